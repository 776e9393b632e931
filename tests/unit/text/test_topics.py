"""Topics of a small collection with two plain themes."""

from __future__ import annotations

from rl_rewriter.text.topics import learn_topics

PARCELS = [f"parcel delivery customs courier number{n}" for n in range(8)]
INVOICES = [f"invoice payment bank tax form{n}" for n in range(8)]


def test_two_themes_are_told_apart_and_named_by_their_own_words() -> None:
    topics = learn_topics(PARCELS + INVOICES, seed=0)
    words = [topic.word for topic in topics]
    assert len(set(words)) == len(words) >= 2
    assert any(word in PARCELS[0] for word in words)
    assert any(word in INVOICES[0] for word in words)
    for topic in topics:
        assert topic.word in topic.term_weights
        assert all(weight > 0 for weight in topic.term_weights.values())


def test_same_seed_same_topics() -> None:
    assert learn_topics(PARCELS + INVOICES, seed=1) == learn_topics(PARCELS + INVOICES, seed=1)


def test_collections_without_themes_have_none() -> None:
    assert learn_topics([]) == ()
    assert learn_topics(["one", "two", "three"]) == ()
    assert learn_topics(["alpha", "beta", "gamma", "delta"]) == ()
    assert learn_topics([""] * 10) == ()
