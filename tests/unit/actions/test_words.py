"""Word actions by hand: what is sent, at every strength, in both languages."""

from __future__ import annotations

import pytest

from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.words import Keywords, RarestTerms, TopicInFront, WordsAlike, counts_alike
from rl_rewriter.policies.spending import searches_of
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import Needs, Rewrite
from tests.unit.actions.conftest import MakeEvidence


def test_keywords_replace_or_blend(evidence: MakeEvidence) -> None:
    asked = evidence("could you please refund my card?")
    assert Keywords().rewrite(asked) == Rewrite(("refund card",))
    assert Keywords(0.5).rewrite(asked) == Rewrite(
        ("could you please refund my card?", "refund card"), (0.5, 0.5)
    )
    assert Keywords(0.0).rewrite(asked) == Rewrite.keep(asked.query)


def test_keywords_in_chinese(evidence: MakeEvidence) -> None:
    assert Keywords().rewrite(evidence("请问如何退款？")) == Rewrite(("退款",))


def test_a_query_of_keywords_gives_them_nothing_to_do(evidence: MakeEvidence) -> None:
    assert Keywords().rewrite(evidence("refund card")) is None
    assert Keywords().rewrite(evidence("what is it?")) is None


def test_rarest_known_terms_in_the_order_of_the_query(evidence: MakeEvidence) -> None:
    asked = evidence("order money by card for a refund refund unheardof")
    assert RarestTerms(2).rewrite(asked) == Rewrite(("card refund",))
    assert RarestTerms(3).rewrite(asked) == Rewrite(("money card refund",))
    blended = RarestTerms(1, 0.25).rewrite(asked)
    assert blended == Rewrite((asked.query.text, "refund"), (0.75, 0.25))


def test_rarest_terms_in_chinese_are_bigrams(evidence: MakeEvidence) -> None:
    assert RarestTerms(1).rewrite(evidence("快递退款")) == Rewrite(("退款",))


@pytest.mark.parametrize("text", ["refund card", "unheardof words", "the of", "?"])
def test_no_rarest_terms_where_none_is_dropped_or_known(evidence: MakeEvidence, text: str) -> None:
    assert RarestTerms().rewrite(evidence(text)) is None


def test_topic_in_front(evidence: MakeEvidence) -> None:
    asked = evidence("refund my card")
    assert TopicInFront().rewrite(asked) == Rewrite(("payment refund my card",))
    assert TopicInFront(0.5).rewrite(asked) == Rewrite(
        ("refund my card", "payment refund my card"), (0.5, 0.5)
    )


def test_no_topic_where_none_fits_or_the_word_is_there(evidence: MakeEvidence) -> None:
    assert TopicInFront().rewrite(evidence("weather")) is None
    assert TopicInFront().rewrite(evidence("refund Payment")) is None
    assert TopicInFront().rewrite(evidence("如何退款")) is None


def test_a_longer_word_that_holds_the_topic_is_another_word(evidence: MakeEvidence) -> None:
    rewrite = TopicInFront().rewrite(evidence("refund of prepayments"))
    assert rewrite == Rewrite(("payment refund of prepayments",))


@pytest.mark.parametrize("action", [Keywords, RarestTerms, TopicInFront])
def test_only_partial_strength_needs_a_blend(
    action: type[Keywords] | type[RarestTerms] | type[TopicInFront],
) -> None:
    assert action(strength=1.0).needs == Needs.NOTHING
    assert action(strength=0.5).needs == Needs.BLEND
    assert action(strength=0.5).name == f"{action().name}@0.5"


def test_words_alike_count_beside_the_query(evidence: MakeEvidence) -> None:
    asked = evidence("refund my card")
    alike = (ask_alike("refund my card"),)
    assert WordsAlike(0.5).rewrite(asked) == Rewrite(
        ("refund my card",), lexical_weight=0.5, lexical_texts=alike, lexical_shares=(1.0,)
    )
    assert (WordsAlike().name, WordsAlike(0.5).name) == ("words_alike", "words_alike@0.5")


def test_no_words_no_words_alike(evidence: MakeEvidence) -> None:
    assert WordsAlike().rewrite(evidence("?")) is None
    assert WordsAlike(0.0).rewrite(evidence("refund")) is None


def test_words_alike_are_a_search_beside_the_query() -> None:
    assert searches_of(Needs.NOTHING, WordsAlike()) == 1
    assert searches_of(Needs.NOTHING, Keywords()) == 0


def test_bm25_alone_counts_them_and_a_fused_blend_does_not(evidence: MakeEvidence) -> None:
    asked = evidence("refund my card")
    found = WordsAlike(0.5).rewrite(asked)
    assert found is not None
    assert counts_alike(WordsAlike(0.5), found)
    assert not counts_alike(WordsAlike(0.5), Rewrite.keep(asked.query))
    assert not counts_alike(FuseWithBm25(0.5), found)
