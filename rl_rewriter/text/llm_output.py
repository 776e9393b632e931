"""Usable texts out of what a language model answers: no chatter, numbering, quotes or thoughts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rl_rewriter.text.llm_phrases import (
    ASIDE,
    ASIDE_KEYS,
    ENUMERATION,
    HEADING,
    HERE_IT_IS,
    INTERJECTION,
    JSON_KEY,
    LABEL,
    REFUSAL,
    TAGGED,
    THOUGHT_TAG,
    WHOLE_PREAMBLE,
)

MAX_OUTPUT_CHARS = 50_000
"""Of longer answers only the beginning is read."""
_MAX_DEPTH = 5
_MAX_LINE_CHARS = 10_000
_QUOTES = {
    '"': '"',
    "'": "'",
    "“": "”",
    "„": "“",
    "‘": "’",
    "«": "»",
    "「": "」",
    "『": "』",
    "`": "`",
}


def candidates(output: str) -> list[str]:
    """The texts that an answer offers, in order: its lines, or the strings of its JSON.

    Preambles ("Here are 3 versions:"), thoughts, code fences, bullets, numbers, labels, quotes,
    asides ("Note: ...") and lines without a letter or digit are taken out.

    Returns:
        None at all where the model refused, or where nothing is left.
    """
    body = _without_fences(_without_thoughts(output[:MAX_OUTPUT_CHARS]))
    lines = _json_strings(body) or body.splitlines()
    last = max((row for row, line in enumerate(lines) if _says_something(line)), default=-1)
    found: list[str] = []
    for row, line in enumerate(lines):
        text = _cleaned(line)
        if not found and REFUSAL.match(text):
            return []
        if not _says_something(text) or ASIDE.match(text):
            continue
        announces = text.endswith((":", "：")) or HEADING.match(text)
        if row == last or not announces:
            found.append(text)
    return found


def first_text(output: str, *, limit: int) -> str | None:
    """The first usable text of an answer.

    Args:
        output: What the model answered.
        limit: Characters that are kept, cut between words where there are any.

    Returns:
        One line, or None where there is nothing to use.
    """
    found = candidates(output)
    return _cut(found[0], limit) if found else None


def joined_text(output: str, *, limit: int) -> str | None:
    """All usable texts of an answer in one line: a passage, or a list of keywords.

    Args:
        output: What the model answered.
        limit: Characters that are kept, cut between words where there are any.
    """
    found = candidates(output)
    return _cut(" ".join(found), limit) if found else None


def _without_thoughts(text: str) -> str:
    """What stands outside of blocks such as ``<think>``; all before the end of an unopened one."""
    parts: list[str] = []
    position, is_thinking = 0, False
    for tag in THOUGHT_TAG.finditer(text):
        if tag[1]:
            if not is_thinking:  # templates open the first thought in the prompt
                parts.clear()
            position, is_thinking = tag.end(), False
        elif not is_thinking:
            parts.append(text[position : tag.start()])
            is_thinking = True
    if not is_thinking:  # else the answer was cut off while it thought
        parts.append(text[position:])
    return "\n".join(parts)


def _without_fences(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("```"))


def _json_strings(body: str) -> list[str]:
    """The strings of a JSON answer in order, explanations left out; nothing where it is no JSON."""
    if not body.lstrip().startswith(("[", "{")):
        return []
    try:
        value = json.loads(body)
    except RecursionError:
        return []
    except ValueError:
        try:
            value = json.loads(_closed(body))
        except (ValueError, RecursionError):
            return []
    return [line for text in _leaves(value, _MAX_DEPTH) for line in text.splitlines()]


def _closed(body: str) -> str:
    """JSON that was cut off, with what is open closed."""
    closing: list[str] = []
    is_string = is_escaped = False
    for character in body:
        if is_string:
            is_string = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
        elif character == '"':
            is_string = True
        elif character in "[{":
            closing.append("]" if character == "[" else "}")
        elif character in "]}" and closing:
            closing.pop()
    end = '"' if is_string else ""
    return body.rstrip().rstrip(",") + end + "".join(reversed(closing))


def _leaves(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for item in value:
            yield from _leaves(item, depth - 1)
    elif depth and isinstance(value, dict):
        for key, item in value.items():
            if str(key).lower() not in ASIDE_KEYS:
                yield from _leaves(item, depth - 1)


def _cleaned(line: str) -> str:
    """A line without what surrounds its text; empty where it only introduces others."""
    text, before = " ".join(line[:_MAX_LINE_CHARS].split()), None
    while text != before:
        before = text
        text = text.replace("**", "").replace("__", "").strip()
        for pattern in (ENUMERATION, INTERJECTION, HERE_IT_IS, JSON_KEY, LABEL):
            text = pattern.sub("", text, count=1).strip()
        tagged = TAGGED.match(text)
        text = _unquoted(tagged[2].strip() if tagged else text)
    return "" if WHOLE_PREAMBLE.match(text) else text


def _unquoted(text: str) -> str:
    if text[:1] not in _QUOTES or not text:
        return text
    closing = _QUOTES[text[0]]
    bare = text.rstrip(",;.") if text.rstrip(",;.").endswith(closing) else text
    inner = bare[1:-1]
    if len(bare) > 1 and bare.endswith(closing) and not _has_quote(inner, text[0] + closing):
        return inner.strip()
    is_stray = text[0] == '"' and text.count('"') == 1
    return text[1:].strip() if is_stray else text


def _has_quote(inner: str, quotes: str) -> bool:
    """Whether quotes open or close within; an apostrophe within a word does neither."""
    if "'" in quotes or "’" in quotes:
        return re.search(r"(?:^|\s)['‘’]|['‘’](?:\s|$)", inner) is not None
    return any(quote in inner for quote in quotes)


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = text[:limit]
    between_words = kept.rfind(" ")
    return (kept[:between_words] if between_words > limit // 2 else kept).rstrip()
