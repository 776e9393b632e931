"""What a language model is asked, in a few words that any of them follows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rl_rewriter.errors import InputError
from rl_rewriter.types import Query

MAX_TURNS = 6
"""Of longer conversations only the end is shown."""
MAX_TURN_CHARS = 1000
"""Of longer turns only the beginning is shown."""
_FIELD = re.compile(r"\{(query|history)\}")


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A question to a language model, and what its answer is good for.

    Attributes:
        text: With ``{query}`` and, where earlier turns are needed, ``{history}``.
        is_added: Whether the answer is searched behind the query rather than in its place.
        joins: Whether all lines of the answer count, not only the first usable one.
        limit: Characters of the answer that are searched.

    Raises:
        InputError: The text has no place for the query.
    """

    text: str
    is_added: bool = False
    joins: bool = False
    limit: int = 500

    def __post_init__(self) -> None:
        """Refuse a prompt that asks the same for every query."""
        if not isinstance(self.text, str) or "{query}" not in self.text:
            raise InputError(
                f"a prompt must hold {{query}}, or be one of {', '.join(PROMPTS)}; got "
                f"{self.text!r:.80}"
            )

    @property
    def wants_history(self) -> bool:
        """Whether it means nothing without earlier turns."""
        return "{history}" in self.text

    def filled(self, query: Query) -> str:
        """The prompt for one query; braces in the user's words stay what they are."""
        turns = (
            f"{turn.role}: {turn.text[:MAX_TURN_CHARS].strip()}"
            for turn in query.history[-MAX_TURNS:]
        )
        values = {"query": query.text.strip(), "history": "\n".join(turns)}
        return _FIELD.sub(lambda field: values[field[1]], self.text)


PROMPTS: Mapping[str, Prompt] = {
    "keywords": Prompt(
        text="Name up to ten search terms that a text answering this question is likely to hold "
        "and that the question lacks: synonyms, technical names, related things. Use the language "
        "of the question. Give the terms only, with commas between them.\n\n"
        "Question: {query}\nTerms:",
        is_added=True,
        joins=True,
    ),
    "rephrase": Prompt(
        text="Put this question into the words of a good search query, in the same language. Keep "
        "its meaning and every name and number; leave out what doesn't help to find an answer. "
        "Give the query only.\n\nQuestion: {query}\nQuery:",
    ),
    "passage": Prompt(
        text="Write two or three sentences, in the language of this question, as they could stand "
        "in a text that answers it. Give the sentences only.\n\nQuestion: {query}\nPassage:",
        is_added=True,
        joins=True,
        limit=1500,
    ),
    "standalone": Prompt(
        text="A user talks with an assistant:\n{history}\n\nNow the user says: {query}\n\nSay that "
        "as one question that is understood without the conversation, in the same language. Repeat "
        "it unchanged where it is understood already. Give the question only.\nQuestion:",
    ),
}
"""The usual methods by name; a user's own prompt is a text of the same form."""


def prompt_of(name_or_text: str) -> Prompt:
    """One of :data:`PROMPTS` by name, or the user's own text: its first usable line is searched.

    Raises:
        InputError: It is neither a known name nor a text with ``{query}``.
    """
    known = PROMPTS.get(name_or_text)
    return known if known is not None else Prompt(text=name_or_text)
