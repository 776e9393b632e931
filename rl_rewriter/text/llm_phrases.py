"""What language models say around the text they were asked for, in English and Chinese."""

from __future__ import annotations

import re


def _starts_with(*alternatives: str) -> re.Pattern[str]:
    return re.compile(f"^(?:{'|'.join(alternatives)})", re.IGNORECASE)


_KIND = (
    "(?:quer(?:y|ies)|questions?|keywords?|(?:search )?terms?|passages?|answers?|versions?"
    "|variants?|variations?|outputs?|rewrites?|paraphrases?|synonyms?|alternatives?|options?)"
)
_QUALITY = (
    "(?:(?:re-?written|rephrased|reformulated|expanded|improved|alternative|final|search|new|better"
    "|stand-?alone|optimi[sz]ed|clarified|refined|updated|hypothetical|related|key)[ -])"
)
_OWNER = "(?:(?:the|my|your|an?) )?"
_HERE = "(?:here(?:['’]s| is| are| you go)|below (?:is|are))"
_REWROTE = "i(?:['’]ve| have)? (?:rewrote|rewritten|rephrased|reformulated|expanded|generated)"

ENUMERATION = _starts_with(
    r"#{1,6}\s",
    r">\s",
    r"[-*+•●▪◦‣·–—]\s+",
    r"\(?\d{1,2}[.)](?!\d)\s*",
    r"\(?[a-z]\)\s+",
    r"\d{1,2}、\s*",
    r"（\d{1,2}）\s*",
    r"[①-⑳]\s*",
)
"""Bullets and numbers before an entry; "2.5 percent" and "5-HT" are none."""

INTERJECTION = _starts_with(
    "(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|great(?: question)?|got it"
    r"|no problem|understood)\s*(?:[!.,:]|\s[–—-]\s)\s*",
    r"(?:好的|当然(?:可以)?|没问题|明白了?)[，,。！!：:]\s*",
)
"""What comes before the matter: "Sure!", "好的，"."""

HERE_IT_IS = _starts_with(
    rf"(?:{_HERE}|these are|the following (?:is|are)|{_REWROTE})\b[^:：]{{0,120}}[:：](?!\d)\s*",
    r"(?:以下|下面|这)是[^:：]{0,60}[:：]\s*",
)
"""Announces the text on the same or on the next line: "Here are 3 versions:"."""

WHOLE_PREAMBLE = _starts_with(
    rf"{_HERE}\b[^:：]{{0,120}}\b{_KIND}\b[^:：]{{0,40}}[.!:]?$",
    "here (?:you go|it is|they are)[.!:]?$",
)
"""Announces texts and ends without a colon."""

LABEL = _starts_with(
    rf"{_OWNER}{_QUALITY}*{_KIND}(?: ?#?\d{{1,2}}| \([^()]{{1,40}}\))?\s*[:：]\s*",
    r"(?:改写|重写|扩展|优化|搜索|检索|独立|最终|新)?后?的?"
    r"(?:查询|问题|问句|关键词|检索词|搜索词|段落|答案|回答|版本)\s*\d{0,2}\s*[:：]\s*",
)
"""Names what follows: "Rewritten query:", "改写后的问题："."""

HEADING = _starts_with(f"{_OWNER}{_QUALITY}+{_KIND}$")
"""A label that stands alone on its line, without a colon."""

JSON_KEY = _starts_with(r'"[\w -]{1,40}"\s*:\s*')
"""A key at the beginning of a line of broken JSON."""

THOUGHT_TAG = re.compile(
    "<(/?)(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)>", re.IGNORECASE
)
"""Begins or ends what a model thinks before it answers."""

TAGGED = re.compile(r"^<([A-Za-z][\w-]{0,30})>(.*)</\1>$")
"""One pair of tags around the whole line."""

ASIDE = _starts_with(
    r"(?:notes?|explanation|reasoning|rationale|conversation)\s*[:：]",
    r"(?:original|user)(?: user)? (?:query|question)\s*[:：]",
    r"(?:please )?(?:let me know|feel free)\b",
    r"i hope (?:this|that|these)\b",
    "hope (?:this|that) helps",
    r"would you like (?:me|to)\b",
    r"(?:注|注意|说明|解释|原始?(?:查询|问题))\s*[:：]",
    "希望(?:这|以上|对您|对你)",
    "如(?:果您?|需|有)[^。]{0,30}(?:告诉我|请告知|随时)",
)
"""Said beside the matter: notes, the question once more, offers of further help."""

ASIDE_KEYS = frozenset(
    {"reasoning", "explanation", "rationale", "thought", "thoughts", "thinking", "analysis"}
    | {"note", "notes", "original", "original_query", "original_question"}
    | {"language", "intent", "confidence"}
)
"""Keys of a JSON answer whose values aren't what was asked for."""

_TASK = (
    "(?:help|assist|provide|answer|re-?write|rephrase|reformulate|generate|create|comply|fulfil+"
    r"|do that|expand|write|produce|process|complete)\b"
)
REFUSAL = _starts_with(
    r"(?:i['’]m|i am|we['’]re|we are) (?:very |really |so )?(?:sorry|afraid|unable|not able to)\b",
    r"sorry\s*[,.!]",
    r"i apologi[sz]e\b",
    r"my apologies\b",
    r"unfortunately,? i\b",
    r"as an? (?:ai|(?:large )?language model)\b",
    f"(?:i|we) (?:can(?:not|['’]t| not)|could(?: not|n['’]t)|will not|won['’]t) {_TASK}",
    r"(?:i|we) (?:do not|don['’]t) have (?:enough|access|any|sufficient)\b",
    "(?:none|null|n/a|nil)[.!]?$",
    "no (?:rewrite|change|answer|output)s?(?: (?:is )?needed)?[.!]?$",
    "(?:很|非常)?(?:抱歉|对不起)",
    "作为(?:一个|一名)?(?:ai|人工智能|大?语言模型)",
    "我(?:无法|不能)(?:提供|回答|帮助|协助|改写|生成)",
    "(?:无|没有|无需改写)[。.]?$",
)
"""A model that declines, or says that there is nothing."""
