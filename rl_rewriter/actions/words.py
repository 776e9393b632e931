"""Actions on the query's own words: keyword form, rarest terms, topic word, words spelt alike."""

from __future__ import annotations

from dataclasses import dataclass

from rl_rewriter.actions.base import Action, blend_needs, strength_suffix
from rl_rewriter.text.alike import ask_alike, asks_alike
from rl_rewriter.text.tokens import cjk_share, index_terms, keyword_form
from rl_rewriter.types import Evidence, Needs, Rewrite


@dataclass(frozen=True)
class Keywords:
    """Stop words, question words and politeness out.

    Attributes:
        strength: How far toward the keyword form.
    """

    strength: float = 1.0

    @property
    def name(self) -> str:
        """``keywords`` or ``keywords@<strength>``."""
        return f"keywords{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """A mix of texts where the strength is partial."""
        return blend_needs(self.strength)

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The keyword form, or None where it is the query."""
        query = evidence.query
        keywords = keyword_form(query.text)
        return None if keywords == query.text else Rewrite.blend(query, keywords, self.strength)


@dataclass(frozen=True)
class RarestTerms:
    """Only the terms with the highest IDF among those that the collection knows.

    Attributes:
        n_terms: Terms kept.
        strength: How far toward them.
    """

    n_terms: int = 4
    strength: float = 1.0

    @property
    def name(self) -> str:
        """``top_idf_<n>`` with the strength where it is partial."""
        return f"top_idf_{self.n_terms}{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """A mix of texts where the strength is partial."""
        return blend_needs(self.strength)

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The rarest known terms in the order of the query; None where none would be dropped."""
        terms = list(dict.fromkeys(index_terms(evidence.query.text)))
        known = [term for term in terms if evidence.statistics.knows(term)]
        best = set(sorted(known, key=evidence.statistics.idf, reverse=True)[: self.n_terms])
        if not best or len(best) == len(terms):
            return None
        text = " ".join(term for term in terms if term in best)
        return Rewrite.blend(evidence.query, text, self.strength)


@dataclass(frozen=True)
class TopicInFront:
    """Puts the word that names the query's topic before it; topics are learned from the collection.

    Attributes:
        strength: How far toward the prefixed query.
    """

    strength: float = 1.0

    @property
    def name(self) -> str:
        """``topic`` or ``topic@<strength>``."""
        return f"topic{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """A mix of texts where the strength is partial."""
        return blend_needs(self.strength)

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The topic's word and the query; None where no topic fits or the word is there already."""
        text = evidence.query.text
        terms = index_terms(text)
        word = evidence.statistics.topic_of(terms)
        if word is None or word in terms:
            return None
        joined = f"{word}{text}" if cjk_share(text) > 0.3 else f"{word} {text}"
        return Rewrite.blend(evidence.query, joined, self.strength)


@dataclass(frozen=True)
class WordsAlike:
    """Counts words of the collection that are spelt like those of the query.

    Attributes:
        strength: Share of the score that counts them.
    """

    strength: float = 1.0

    @property
    def name(self) -> str:
        """``words_alike`` or ``words_alike@<strength>``."""
        return f"words_alike{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """BM25 that knows spelling."""
        return Needs.SPELLING

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The query, beside which BM25 is asked for such words; None where it has no words."""
        text = evidence.query.text
        if not self.strength or not index_terms(text):
            return None
        alike = (ask_alike(text),)
        return Rewrite(
            texts=(text,), lexical_weight=self.strength, lexical_texts=alike, lexical_shares=(1.0,)
        )


def counts_alike(action: Action, rewrite: Rewrite) -> bool:
    """Whether BM25 alone scores what an action made of a query, words spelt alike among the others.

    A learned blend may ask for such words, too, but is fused with another ranking.
    """
    return Needs.SPELLING in action.needs and any(map(asks_alike, rewrite.lexical_texts))
