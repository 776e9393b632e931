"""Rewrites by a language model, live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rl_rewriter.actions.base import blend_needs, strength_suffix
from rl_rewriter.actions.language_model import Answer, Answering, LanguageModel
from rl_rewriter.actions.llm_prompts import PROMPTS, Prompt, prompt_of
from rl_rewriter.text.digests import digest
from rl_rewriter.text.llm_output import first_text, joined_text
from rl_rewriter.text.small_talk import is_small_talk
from rl_rewriter.types import Evidence, Needs, Query, Rewrite


@dataclass(frozen=True)
class LlmRewrite:
    """What a language model makes of a query.

    Greetings and thanks are kept without asking. A failure, a refusal or an empty answer leaves the
    query as it is; the call counts all the same.

    Attributes:
        ask: A LangChain chat model, a LlamaIndex LLM, a function from prompt to text, or a
            :class:`~rl_rewriter.actions.language_model.LanguageModel` around one of these, which
            has a time limit and keeps answers, and which several actions may share.
        name: Unique name; by default ``llm:<prompt>`` with the strength where it is partial.
        prompt: "keywords", "rephrase", "passage", "standalone" (for a conversation), or a text of
            your own with ``{query}`` and perhaps ``{history}``.
        strength: How far toward the answer.
        model: Names the model in a saved policy; by default what it tells of itself.

    Raises:
        InputError: The object cannot be asked, or the prompt has no place for the query.
    """

    ask: Any = field(repr=False, hash=False)
    name: str = ""
    prompt: str = "rephrase"
    strength: float = 1.0
    model: str = ""

    def __post_init__(self) -> None:
        """Wrap what can only be asked, and fill in what wasn't named."""
        asked = self.ask if isinstance(self.ask, Answering) else LanguageModel(self.ask)
        method = self.prompt if prompt_of(self.prompt) is PROMPTS.get(self.prompt) else "own"
        object.__setattr__(self, "ask", asked)
        object.__setattr__(self, "model", self.model or asked.name.partition("#")[0])
        object.__setattr__(
            self, "name", self.name or f"llm:{method}{strength_suffix(self.strength)}"
        )

    @cached_property
    def _prompt(self) -> Prompt:
        return prompt_of(self.prompt)

    @property
    def needs(self) -> Needs:
        """Earlier turns where the prompt shows them, a mix of texts at a partial strength."""
        history = Needs.HISTORY if self._prompt.wants_history else Needs.NOTHING
        return history | blend_needs(self.strength)

    @property
    def llm_calls(self) -> int:
        """The most calls that are made for one query: none where answers were fetched before."""
        return 0 if isinstance(self.ask, FixedAnswers) else 1

    @property
    def content(self) -> str:
        """Names what the model answered, where that is fixed: outcomes depend on it."""
        return str(getattr(self.ask, "content", ""))

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The answer, or the query itself where that is of no use; None where nothing is asked."""
        query = evidence.query
        if not self._is_worth_asking(query):
            return None
        answer = self.ask.answer(self._prompt.filled(query))
        if not answer.calls:
            return None
        text = self.text_of(query, answer)
        made = Rewrite.keep(query) if text is None else Rewrite.blend(query, text, self.strength)
        return replace(made, llm_calls=answer.calls)

    def text_of(self, query: Query, answer: Answer) -> str | None:
        """What is searched for a query after an answer; None where the query is kept."""
        if answer.text is None:
            return None
        prompt = self._prompt
        usable = (joined_text if prompt.joins else first_text)(answer.text, limit=prompt.limit)
        if usable is None or usable == query.text.strip():
            return None
        return f"{query.text} {usable}" if prompt.is_added else usable

    def prefetch(
        self, queries: Sequence[Query], on_progress: Callable[[int], None] | None = None
    ) -> Prefetched:
        """Ask about many queries, several at a time.

        Args:
            queries: Those without the history that the prompt shows are left out.
            on_progress: Called with the number of distinct prompts done so far.
        """
        prompts = {
            query: self._prompt.filled(query) for query in queries if self._is_worth_asking(query)
        }
        answers = self.ask.answer_all(list(prompts.values()), on_progress)
        found = [(query, answers[prompt]) for query, prompt in prompts.items()]
        problems = [answer.problem for _, answer in found if answer.text is None]
        return Prefetched(
            action=replace(self, ask=FixedAnswers(self.ask.name, answers)),
            n_asked=len(found),
            n_failed=len(problems),
            n_unusable=sum(self.text_of(*each) is None for each in found) - len(problems),
            problem=problems[0] if problems else "",
        )

    def _is_worth_asking(self, query: Query) -> bool:
        if not self.strength or not query.is_searchable or is_small_talk(query.text):
            return False
        return bool(query.history) or not self._prompt.wants_history


@dataclass(frozen=True, eq=False)
class FixedAnswers:
    """Answers that were fetched before; what wasn't is not asked.

    Attributes:
        name: Names the model.
        answers: Prompt -> answer.
    """

    name: str
    answers: Mapping[str, Answer]

    def answer(self, prompt: str) -> Answer:
        """See :class:`~rl_rewriter.actions.language_model.Answering`."""
        return self.answers.get(prompt, Answer(None, calls=0, problem="not fetched"))

    def answer_all(
        self, prompts: Sequence[str], on_progress: Callable[[int], None] | None = None
    ) -> dict[str, Answer]:
        """See :class:`~rl_rewriter.actions.language_model.Answering`."""
        return {prompt: self.answer(prompt) for prompt in prompts}

    @cached_property
    def content(self) -> str:
        """Hash of all prompts and answers; a call that failed is no empty answer."""
        rows = sorted(
            (prompt, answer.text or "", f"{answer.calls} {answer.text is None}")
            for prompt, answer in self.answers.items()
        )
        return digest(part for row in rows for part in row)

    @cached_property
    def n_failed(self) -> int:
        """Prompts without an answer, which could have one another time."""
        return sum(answer.text is None for answer in self.answers.values())


def failed_answers(action: object) -> int:
    """Prompts that an action has no answer to since calls failed; 0 for any other action."""
    asked = action.ask if isinstance(action, LlmRewrite) else None
    return asked.n_failed if isinstance(asked, FixedAnswers) else 0


@dataclass(frozen=True)
class Prefetched:
    """What asking about many queries gave.

    Attributes:
        action: The same action with these answers, which asks nothing more.
        n_asked: Distinct queries that the model was asked about, now or earlier.
        n_failed: Those without an answer.
        n_unusable: Those whose answer was empty, a refusal, or the query itself.
        problem: Why the first one without an answer has none.
    """

    action: LlmRewrite
    n_asked: int
    n_failed: int
    n_unusable: int
    problem: str = ""

    def notes(self) -> list[str]:
        """What a reader of figures should know, one sentence each."""
        name, notes = self.action.name, []
        if self.n_failed:
            notes.append(
                f"{name}: the language model failed on {self.n_failed} of {self.n_asked} queries, "
                f"which are kept ({self.problem})"
            )
        if self.n_unusable:
            notes.append(
                f"{name}: {self.n_unusable} of {self.n_asked} answers are empty, refusals or the "
                "query itself; these queries are kept"
            )
        return notes
