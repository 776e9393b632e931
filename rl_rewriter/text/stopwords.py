"""Short word lists: long ones drop meaning from queries."""

from __future__ import annotations

ENGLISH_STOP_WORDS = frozenset(
    (
        "a an and are as at be but by for if in into is it no not of on or such that the "
        "their then there these they this to was will with"
    ).split()
)
"""Left out of the BM25 index and of BM25 queries (Lucene's classic list)."""

ENGLISH_PRONOUNS = frozenset(
    (
        "he him his she her hers it its they them their theirs this that these those one ones "
        "there here"
    ).split()
)
"""Words that often point back to an earlier turn."""

ENGLISH_QUESTION_WORDS = frozenset(
    (
        "what which who whom whose when where why how can could do does did is are was were "
        "will would should may might am has have had"
    ).split()
)
"""Words a question begins with."""

ENGLISH_FILLER = frozenset(
    (
        "i im ive id me my mine myself we our us you your please thanks thank hi hello hey "
        "just so really actually basically kind sort like want wanted need get got getting "
        "know tell anyone someone something anything been being from about also very too much "
        "some any all dont cant isnt doesnt didnt wont t s m ve re ll d don doesn didn isn ok "
        "okay well than let lets"
    ).split()
)
"""Words that carry the conversation rather than the need."""

ENGLISH_NON_KEYWORDS = (
    ENGLISH_STOP_WORDS | ENGLISH_PRONOUNS | ENGLISH_QUESTION_WORDS | ENGLISH_FILLER
)

CHINESE_NON_KEYWORDS = (
    "请问一下 我想问一下 想问一下 我想知道 能不能 可不可以 是不是 有没有 会不会 要不要 "
    "为什么 怎么样 怎么办 怎么 怎样 如何 什么时候 什么 哪里 哪些 哪个 几天 多少 多久 请问 "
    "你好 您好 谢谢 麻烦 帮我 帮忙 一下 我想 我要 我的 你们 我们 他们 可以 需要 能否 是否 "
    "应该 这个 那个 这种 那种 这样 那样 现在 已经 还是 就是 但是 如果 因为 所以 然后 而且 "
    "或者 吗 呢 吧 啊 呀 哦 嘛 的 了 我 你 您"
).split()
"""Chinese question words, particles and politeness, removed longest first.

Of single characters only those stand here that are hardly ever part of another word.
"""

CHINESE_PRONOUNS = ("它们", "他们", "这些", "那些", "这个", "那个", "它", "他", "她", "这", "那")
CHINESE_QUESTION_MARKS = (
    "吗",
    "呢",
    "什么",
    "怎么",
    "如何",
    "哪",
    "几",
    "多少",
    "为什么",
    "是否",
    "谁",
)
