"""Views: what else a query can be searched by, each of them one direction of a blend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.feedback import ExpandWithTerms
from rl_rewriter.actions.fused_documents import fused_vectors
from rl_rewriter.errors import CheckpointError
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.text.history_parts import in_front, parts_of_history
from rl_rewriter.types import Evidence, Matrix, Needs, Ranking, Vector

Kind = Literal["dense", "lexical"]
T = TypeVar("T")
Maker = Callable[[Evidence], T]
_FEEDBACK = Needs.VECTOR | Needs.FIRST_RANKING | Needs.FIRST_VECTORS
_LEXICAL_FEEDBACK = Needs.VECTOR | Needs.LEXICAL | Needs.LEXICAL_VECTORS
_EXPAND = ExpandWithTerms(3, 5)
_NO_DOCUMENTS: Matrix = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True)
class View:
    """One thing to search by.

    Attributes:
        name: For checkpoints and tables.
        kind: "dense" views are searched by the base retriever, all of them as one vector or as one
            mix of texts; "lexical" ones are texts whose BM25 scores are fused with that.
        needs: What evidence it is made of.
        text: Makes its text, "" where this query has none; None for views that no text has.
        documents: Makes the vectors of documents, ``(m, d)``, whose mean it is where no text has
            it; those of no documents where this query finds none.
        n_documents: How many of them are averaged, from the first on.
        alike: Whether BM25 counts words that are spelt like those of its text.
    """

    name: str
    kind: Kind
    needs: Needs = Needs.NOTHING
    text: Maker[str] | None = None
    documents: Maker[Matrix] | None = None
    n_documents: int = 3
    alike: bool = False


@dataclass(frozen=True, eq=False)
class Seen:
    """The views of one query.

    Attributes:
        texts: One text a view; "" for those that are absent or have no text.
        vectors: Shape ``(v, d)``, of the query's own length; zeros for lexical and absent views;
            None where the retriever searches texts alone.
        present: Which views this query has, ``(v,)``.
    """

    texts: tuple[str, ...]
    vectors: Matrix | None
    present: npt.NDArray[np.bool_]


def _query(evidence: Evidence) -> str:
    return evidence.query.text


def _expanded(evidence: Evidence) -> str:
    rewrite = _EXPAND.rewrite(evidence)
    return rewrite.text if rewrite is not None else ""


def _in_front(evidence: Evidence) -> str:
    return in_front(evidence.query, "first_last")


def _last_answer(evidence: Evidence) -> str:
    return " ".join(parts_of_history(evidence.query, "last_answer"))


def _first_documents(evidence: Evidence) -> Matrix:
    return _vectors(evidence.first)


def _lexical_documents(evidence: Evidence) -> Matrix:
    return _vectors(evidence.lexical)


def _fused_documents(evidence: Evidence) -> Matrix:
    return fused_vectors(evidence, 5)


def _vectors(found: Ranking | None) -> Matrix:
    return _NO_DOCUMENTS if found is None or found.vectors is None else found.vectors


VIEWS: tuple[View, ...] = (
    View("query", "dense", text=_query),
    View("first_3", "dense", _FEEDBACK, documents=_first_documents),
    View("fused_3", "dense", _FEEDBACK | _LEXICAL_FEEDBACK, documents=_fused_documents),
    View("fused_5", "dense", _FEEDBACK | _LEXICAL_FEEDBACK, None, _fused_documents, 5),
    View("bm25_3", "dense", _LEXICAL_FEEDBACK, documents=_lexical_documents),
    View("history_in_front", "dense", text=_in_front),
    View("last_answer", "dense", text=_last_answer),
    View("words", "lexical", Needs.LEXICAL, text=_query),
    View("words_expanded", "lexical", Needs.LEXICAL | Needs.FIRST_TEXTS, text=_expanded),
    View("words_of_history", "lexical", Needs.LEXICAL, text=_in_front),
    View("words_alike", "lexical", Needs.LEXICAL, text=_query, alike=True),
    View("words_of_history_alike", "lexical", Needs.LEXICAL, text=_in_front, alike=True),
)
"""All views; the first is the query itself."""

_TEXT_ONLY = View("expanded", "dense", Needs.FIRST_RANKING | Needs.FIRST_TEXTS, text=_expanded)
"""Takes the place of the feedback vectors where only texts can be searched."""
_KNOWN = {view.name: view for view in (*VIEWS, _TEXT_ONLY)}


def views_for(offers: Needs) -> tuple[View, ...]:
    """The views that a retriever with these offers can search, at least two, or none."""
    if not (Needs.VECTOR | Needs.BLEND) & offers:
        return ()
    views = VIEWS if Needs.VECTOR in offers else (*VIEWS[:1], _TEXT_ONLY, *VIEWS[1:])
    found = tuple(view for view in views if not view.needs & ~offers)
    return found if len(found) > 1 else ()


def views_named(names: Sequence[str]) -> tuple[View, ...]:
    """Views by name.

    Raises:
        CheckpointError: There is none of that name, or none at all.
    """
    check_views(names)
    return tuple(_KNOWN[name] for name in names)


def check_views(names: Sequence[str]) -> None:
    """Refuse names that this version has no view for.

    Raises:
        CheckpointError: There is none of that name, or none at all.
    """
    unknown = [name for name in names if name not in _KNOWN]
    if unknown or not names or names[0] != VIEWS[0].name:
        raise CheckpointError(
            f"the learned blend has views that this version doesn't know: {unknown or names}; "
            "train the policy again or use the version it was trained with"
        )


def look(evidence: Evidence, views: Sequence[View]) -> Seen:
    """What the views of a query are, the query first, by what was gathered of it."""
    made = _made((view.text for view in views), evidence)
    texts = tuple(_text(view, made) for view in views)
    own = evidence.vector
    if own is None:
        return Seen(texts, None, np.asarray([bool(text) for text in texts]))
    documents = _made((view.documents for view in views), evidence)
    vectors = np.zeros((len(views), len(own)), dtype=np.float32)
    for row, (view, text) in enumerate(zip(views, texts, strict=True)):
        if view.documents is not None:
            averaged = documents[view.documents][: view.n_documents]
            found = averaged.mean(axis=0) if len(averaged) else None
        else:
            found = _embedded(evidence, text) if view.kind == "dense" else None
        if found is not None:
            vectors[row] = found
    lengths = np.linalg.norm(vectors, axis=1)
    present = lengths > 0.0
    vectors[present] *= (lengths[0] / lengths[present])[:, None]
    vectors[~present] = 0.0
    present |= [
        view.kind == "lexical" and bool(text) for view, text in zip(views, texts, strict=True)
    ]
    present[0] = True
    return Seen(texts, vectors, present)


def _text(view: View, made: Mapping[Maker[str], str]) -> str:
    text = "" if view.text is None else made[view.text]
    return ask_alike(text) if view.alike else text


def _made(makers: Iterable[Maker[T] | None], evidence: Evidence) -> dict[Maker[T], T]:
    """What each of them makes, once for all views that share it."""
    return {make: make(evidence) for make in dict.fromkeys(makers) if make is not None}


def _embedded(evidence: Evidence, text: str) -> Vector | None:
    return evidence.vector if text == evidence.query.text else evidence.part_vectors.get(text)
