"""Rewrites that were made before, in a file: each of its arms becomes an action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from rl_rewriter.actions.precomputed import (
    ArmTexts,
    PrecomputedRewrite,
    PrecomputedText,
    words_of,
)
from rl_rewriter.benchmark.collections.files import read_json_lines
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.rewrite_rows import RewriteRow, arm_names, row_of
from rl_rewriter.errors import InputError
from rl_rewriter.types import Needs, Query

BLENDED = 0.5
"""Strength of the second form of each arm where texts are searched as vectors. Mixing the scores of
words gains nothing measurable: such texts repeat the query already."""

Texts = Mapping[str, PrecomputedText]


@dataclass(frozen=True)
class Rewrites:
    """Rewrites of a file.

    Attributes:
        path: The file.
        arms: Arm -> query id -> rewrite.
        by_words: Arm -> words of a query, where the file tells them -> rewrite.
        n_repeated: Lines left out since their query and arm stand before.
        n_empty: Lines without a text.
    """

    path: Path
    arms: Mapping[str, Texts]
    by_words: Mapping[str, Texts] = field(default_factory=dict)
    n_repeated: int = 0
    n_empty: int = 0

    @cached_property
    def ids(self) -> frozenset[str]:
        """Query ids that any arm has a rewrite of."""
        return frozenset(id_ for texts in self.arms.values() for id_ in texts)

    def actions(
        self,
        queries: Iterable[Query] = (),
        *,
        strengths: Sequence[float] = (1.0,),
    ) -> list[PrecomputedRewrite]:
        """One action for each arm and strength.

        Args:
            queries: Those that the ids belong to: their words then find the rewrites as well.
            strengths: How far toward the rewrite (see :func:`strengths_for`).
        """
        known = list(queries)
        texts = {arm: self._texts(arm, known) for arm in self.arms}
        return [PrecomputedRewrite(arm, texts[arm], s) for s in strengths for arm in self.arms]

    def of(self, queries: Sequence[Query]) -> tuple[Query, ...]:
        """The queries that any arm has a rewrite of, by id or by words."""
        words = {words for texts in self.by_words.values() for words in texts}
        words.update(words_of(query) for query in queries if query.id in self.ids)
        return tuple(query for query in queries if words_of(query) in words)

    def _texts(self, arm: str, queries: Sequence[Query]) -> ArmTexts:
        by_id, by_words = self.arms[arm], dict(self.by_words.get(arm, {}))
        for query in queries:
            if query.id in by_id:
                by_words.setdefault(words_of(query), by_id[query.id])
        return ArmTexts(by_id, by_words)


def strengths_for(offers: Needs) -> tuple[float, ...]:
    """How far toward a rewrite actions should go where a retriever offers this."""
    return (1.0, BLENDED) if not (Needs.BLEND | Needs.VECTOR) & ~offers else (1.0,)


def read_rewrites(path: Path) -> Rewrites:
    """Read JSON lines with ``_id``, ``text``, and ``arm`` or ``method`` and ``model``.

    ``query`` (the query's own words, which find it without an id) and ``llm_calls`` (1 by default)
    may stand beside them. Of several lines for one query and arm the first counts. An arm without a
    name is called "method/model", the model without its owner where that stays unique.

    Raises:
        InputError: The file or a line cannot be used; the text names file and line.
    """
    rows = [row_of(values, place) for place, values in read_json_lines(path)]
    names = arm_names(row.arm for row in rows)
    first: dict[tuple[str, str], RewriteRow] = {}
    for row in rows:
        first.setdefault((names[row.arm], row.query_id or row.words), row)
    by_id: dict[str, dict[str, PrecomputedText]] = {arm: {} for arm, _ in first}
    by_words: dict[str, dict[str, PrecomputedText]] = {arm: {} for arm, _ in first}
    for (arm, _), row in first.items():
        if row.made.text and row.query_id:
            by_id[arm][row.query_id] = row.made
        if row.made.text and row.words:
            by_words[arm].setdefault(row.words, row.made)
    n_empty = sum(not row.made.text for row in first.values())
    return Rewrites(path, by_id, by_words, len(rows) - len(first), n_empty)


def covered(collection: JudgedCollection, rewrites: Rewrites) -> JudgedCollection:
    """The queries that have a rewrite; what is left out, or odd, is said in the notes.

    Where nothing stays to learn from, or nothing held out, the rest has no split of its own any
    more and is cross-validated.

    Raises:
        InputError: No query has a rewrite.
    """
    kept = rewrites.of(collection.queries)
    if not kept:
        raise InputError(
            f"{rewrites.path} has no rewrite for any of the {len(collection.queries)} queries of "
            f"{collection.name!r}; its ids must be theirs, such as {collection.queries[0].id!r}"
        )
    notes = [*collection.notes, *_notes(rewrites, collection.queries, kept)]
    test_ids = collection.test_ids
    if test_ids is not None and len({query.id in test_ids for query in kept}) == 1:
        side = "training" if kept[0].id in test_ids else "held-out"
        notes.append(
            f"no {side} query of {collection.name!r} has a rewrite in {rewrites.path}: the others "
            "are cross-validated"
        )
        test_ids = None
    return replace(
        collection,
        queries=kept,
        test_ids=test_ids,
        is_own_split=collection.is_own_split or test_ids is None,
        notes=tuple(notes),
    )


def _notes(rewrites: Rewrites, queries: Sequence[Query], kept: tuple[Query, ...]) -> Iterator[str]:
    path = rewrites.path
    if rewrites.n_repeated:
        yield f"{path}: {rewrites.n_repeated} lines left out whose query and arm stand before"
    if rewrites.n_empty:
        yield f"{path}: {rewrites.n_empty} lines without a text: those queries are kept"
    unknown = sorted(rewrites.ids - {query.id for query in queries})
    if unknown:
        yield (
            f"{path}: {len(unknown)} query ids are not in the collection, such as {unknown[0]!r}"
        )
    if len(kept) < len(queries):
        n_lacking = len(queries) - len(kept)
        yield f"{n_lacking} of {len(queries)} queries left out: {path} has no rewrite for them"
    for action in rewrites.actions(queries):
        n_lacking = sum(action.texts.of(query) is None for query in kept)
        if n_lacking:
            yield f"{action.name} has no rewrite for {n_lacking} queries, which are kept"
