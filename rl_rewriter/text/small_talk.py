"""Greetings and thanks: said to a chat, but nothing that anyone searches for."""

from __future__ import annotations

import re

MAX_CHARS = 80
"""Nobody greets at greater length."""

_PHRASES = re.compile(
    r"\b(?:good (?:morning|afternoon|evening|night|day)|how are you(?: doing)?|what'?s up"
    r"|nice to meet you|see you(?: later| soon| tomorrow)?)\b"
)
_WORDS = frozenset(
    {"hello", "hi", "hey", "hiya", "howdy", "greetings", "thanks", "thank", "thx", "bye", "goodbye"}
)
_COMPANIONS = frozenset(
    {"you", "u", "your", "there", "all", "everyone", "everybody", "again", "sir", "madam"}
    | {"so", "very", "much", "many", "a", "lot", "really", "great", "perfect", "nice", "cool"}
    | {"and", "for", "the", "help", "that", "this", "was", "is", "it", "have", "day", "today"}
    | {"ok", "okay", "yes", "no", "please"}
)
"""Words that say nothing of their own beside a greeting."""
_WORD = re.compile(r"[^\W_]+")
_CHINESE = re.compile(
    r"(?:非常|十分|好的|嗯)*"
    r"(?:(?:你好|您好|嗨|哈喽|哈啰|谢谢|多谢|感谢|再见|拜拜|早上好|早安|下午好|晚上好|晚安|在吗|辛苦了)"
    r"(?:大家|你们|你|您|的帮助|帮助|了|啊|呀|啦|呢|哦)*)+"
)


def is_small_talk(text: str) -> bool:
    """Whether a query says nothing but a greeting, thanks or a farewell, or no word at all."""
    if len(text) > MAX_CHARS:
        return False
    words = _WORD.findall(_PHRASES.sub("hello", text.lower().replace("’", "'")))
    if not words or _CHINESE.fullmatch("".join(words)):
        return True
    return not _WORDS.isdisjoint(words) and _WORDS.union(_COMPANIONS).issuperset(words)
