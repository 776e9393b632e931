"""The queries that the policy helped and hurt most, with what was retrieved for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rl_rewriter.benchmark.report.fields import Fields, read_object

_KEPT = 300
"""Characters of a document that a run keeps."""


@dataclass(frozen=True)
class Document:
    """A retrieved document; its grade is None where it isn't judged."""

    id: str
    score: float | None
    grade: float | None
    text: str

    @property
    def is_cropped(self) -> bool:
        """Whether the text is as long as a run keeps of any."""
        return len(self.text) >= _KEPT


@dataclass(frozen=True, kw_only=True)
class Example:
    """One query, as it was searched and as the policy searched it.

    Attributes:
        query_id: Its id.
        query: The user's words.
        history: Role and text of the turns before it.
        kind: Its kind; empty where the data have none.
        action: What the policy chose.
        sent: Texts that were searched, with their weights; None where they have none.
        moved: Whether a moved vector was searched instead of the texts' own.
        lexical_weight: Weight of BM25 where rankings were fused, or of what it counts beside.
        counts_alike: Whether BM25 alone was searched, and counted words spelt alike beside.
        keep: The metric of the query as it is.
        policy: The metric of the policy.
        keep_documents: Best documents of the query as it is.
        policy_documents: Best documents of what was sent.
    """

    query_id: str
    query: str
    history: tuple[tuple[str, str], ...]
    kind: str
    action: str
    sent: tuple[tuple[str, float | None], ...]
    moved: bool
    lexical_weight: float | None
    counts_alike: bool
    keep: float | None
    policy: float | None
    keep_documents: tuple[Document, ...]
    policy_documents: tuple[Document, ...]

    @property
    def gain(self) -> float | None:
        """Policy less keep."""
        return None if self.keep is None or self.policy is None else self.policy - self.keep


@dataclass(frozen=True)
class Examples:
    """Most helped and most hurt, the extreme ones first."""

    helped: tuple[Example, ...] = ()
    hurt: tuple[Example, ...] = ()


def read_examples(path: Path) -> Examples | None:
    """Read ``examples.json``; None where there is no such file.

    Raises:
        InputError: It is malformed.
    """
    fields = read_object(path)
    if fields is None:
        return None
    return Examples(
        tuple(_example(part) for part in fields.children("helped")),
        tuple(_example(part) for part in fields.children("hurt")),
    )


def _example(fields: Fields) -> Example:
    texts, weights = fields.texts("texts"), fields.number_list("weights")
    padded = [*weights, *[None] * len(texts)]
    return Example(
        query_id=fields.text("query_id") or "",
        query=fields.text("query") or "",
        history=tuple(
            (turn.text("role") or "", turn.text("text") or "")
            for turn in fields.children("history")
        ),
        kind=fields.text("kind") or "",
        action=fields.text("action") or "",
        sent=tuple(zip(texts, padded[: len(texts)], strict=True)),
        moved=fields.flag("moved"),
        lexical_weight=fields.number("lexical_weight"),
        counts_alike=fields.flag("counts_alike"),
        keep=fields.number("keep"),
        policy=fields.number("policy"),
        keep_documents=_documents(fields, "keep_documents"),
        policy_documents=_documents(fields, "policy_documents"),
    )


def _documents(fields: Fields, key: str) -> tuple[Document, ...]:
    return tuple(
        Document(
            part.text("id") or "",
            part.number("score"),
            part.number("grade"),
            part.text("text") or "",
        )
        for part in fields.children(key)
    )
