"""What the bundled corpus promises: its size, its variety, and that nothing in it is broken."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import rl_rewriter

CORPUS = Path(rl_rewriter.__file__).parent / "demo" / "corpus"
LANGUAGES = ("en", "zh")
SPLITS = ("train", "test")
CONVERSATIONAL = {"follow_up", "topic_shift"}
KINDS = CONVERSATIONAL | {
    "plain",
    "colloquial",
    "short",
    "verbose",
    "misspelled",
    "keyword",
    "multi_intent",
}
SHINGLE = 8
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ufffd]")
"""Control and invisible characters; a line feed is a paragraph of an article."""

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language's files, as they lie there."""

    articles: list[Row]
    queries: list[Row]
    judgements: dict[str, list[tuple[str, str, int]]]
    """For each split: query id, article id, grade."""


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _judgements(path: Path) -> list[tuple[str, str, int]]:
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    cells = [line.split("\t") for line in lines]
    return [(query, article, int(grade)) for query, article, grade in cells]


@cache
def _load(name: str) -> Language:
    folder = CORPUS / name
    return Language(
        articles=_rows(folder / "corpus.jsonl"),
        queries=_rows(folder / "queries.jsonl"),
        judgements={split: _judgements(folder / "qrels" / f"{split}.tsv") for split in SPLITS},
    )


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    """Each language in turn."""
    return _load(request.param)


def _strings(language: Language) -> Iterator[str]:
    for article in language.articles:
        yield from (article["title"], article["text"], article["topic"])
    for query in language.queries:
        yield from (query["text"], *query.get("history", ()))


def _shingles(text: str, *, by_character: bool) -> set[tuple[str, ...]]:
    units = re.findall(r"\w" if by_character else r"\w+", text.casefold())
    return {tuple(units[start : start + SHINGLE]) for start in range(len(units) - SHINGLE + 1)}


def test_english_is_as_large_as_promised() -> None:
    english = _load("en")
    assert len(english.articles) >= 150
    assert len({article["topic"] for article in english.articles}) >= 12
    assert len(english.queries) >= 450
    assert sum("history" in query for query in english.queries) >= 60


def test_chinese_is_as_large_as_promised() -> None:
    chinese = _load("zh")
    assert len(chinese.articles) >= 50
    assert len(chinese.queries) >= 150
    assert {"refund", "shipping", "invoice"} <= {article["topic"] for article in chinese.articles}


def test_every_kind_stands_in_both_splits(language: Language) -> None:
    kind = {query["_id"]: query["kind"] for query in language.queries}
    for split in SPLITS:
        assert {kind[query] for query, _, _ in language.judgements[split]} == KINDS


def test_rows_have_just_the_documented_fields(language: Language) -> None:
    assert all(set(article) == {"_id", "title", "text", "topic"} for article in language.articles)
    for query in language.queries:
        assert set(query) - {"history"} == {"_id", "text", "need", "kind"}
        assert query["_id"].rpartition(".")[0] == query["need"]


def test_ids_are_unique(language: Language) -> None:
    for rows in (language.articles, language.queries):
        assert len({row["_id"] for row in rows}) == len(rows)


def test_every_judgement_points_at_something_and_every_query_is_judged(language: Language) -> None:
    articles = {article["_id"] for article in language.articles}
    judged = [row for split in SPLITS for row in language.judgements[split]]
    assert {article for _, article, _ in judged} <= articles
    assert {query for query, _, _ in judged} == {query["_id"] for query in language.queries}
    assert {grade for _, _, grade in judged} == {1, 2}
    assert max(Counter((query, article) for query, article, _ in judged).values()) == 1


def test_every_query_has_an_article_that_answers_it(language: Language) -> None:
    best: dict[str, int] = defaultdict(int)
    for split in SPLITS:
        for query, _, grade in language.judgements[split]:
            best[query] = max(best[query], grade)
    assert [query["_id"] for query in language.queries if best[query["_id"]] != 2] == []


def test_the_queries_of_a_need_share_their_judgements(language: Language) -> None:
    need = {query["_id"]: query["need"] for query in language.queries}
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for split in SPLITS:
        for query, article, grade in language.judgements[split]:
            grades[query][article] = grade
    of_need: dict[str, dict[str, int]] = {}
    for query, judged in grades.items():
        assert of_need.setdefault(need[query], judged) == judged


def test_no_need_straddles_the_split(language: Language) -> None:
    need = {query["_id"]: query["need"] for query in language.queries}
    train, test = ({need[query] for query, _, _ in language.judgements[split]} for split in SPLITS)
    assert train & test == set()
    assert len(train) / len(train | test) == pytest.approx(0.55, abs=0.02)


def test_no_query_is_written_twice(language: Language) -> None:
    texts = Counter(re.sub(r"\W+", " ", query["text"].casefold()) for query in language.queries)
    assert [text for text, count in texts.items() if count > 1] == []


def test_only_conversational_kinds_have_a_history_and_it_alternates(language: Language) -> None:
    for query in language.queries:
        history = query.get("history")
        assert (history is not None) == (query["kind"] in CONVERSATIONAL), query["_id"]
        if history is not None:
            assert len(history) in {2, 4, 6}, query["_id"]
            assert all(isinstance(turn, str) for turn in history)


def test_texts_are_whole_and_clean(language: Language) -> None:
    for text in _strings(language):
        assert text, "empty text"
        assert text == text.strip(), text
        assert CONTROL.search(text) is None, text
    for query in language.queries:
        assert "\n" not in query["text"], query["_id"]


@pytest.mark.parametrize("name", LANGUAGES)
def test_files_are_utf8_with_a_plain_ending(name: str) -> None:
    files = [path for path in (CORPUS / name).rglob("*") if path.is_file()]
    assert len(files) == 4
    for path in files:
        content = path.read_bytes()
        content.decode("utf-8")
        assert content.endswith(b"\n")
        assert b"\r" not in content
        assert not content.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_two_articles_are_nearly_the_same(name: str) -> None:
    shingles = {
        article["_id"]: _shingles(article["text"], by_character=name == "zh")
        for article in _load(name).articles
    }
    assert all(shingles.values())
    for (one, left), (other, right) in combinations(shingles.items(), 2):
        assert len(left & right) / len(left | right) <= 0.5, (one, other)


def test_english_articles_keep_to_the_promised_length() -> None:
    for article in _load("en").articles:
        assert 70 <= len(article["text"].split()) <= 170, article["_id"]


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_readme_states_the_counts(name: str) -> None:
    language = _load(name)
    readme = (CORPUS / "README.md").read_text(encoding="utf-8")
    split_of = {query: split for split in SPLITS for query, _, _ in language.judgements[split]}
    kinds = Counter((query["kind"], split_of[query["_id"]]) for query in language.queries)
    column = LANGUAGES.index(name) + 3
    for kind in sorted(KINDS):
        line = next(line for line in readme.splitlines() if line.startswith(f"| `{kind}` "))
        stated = line.split("|")[column].strip()
        assert stated == f"{kinds[kind, 'train']} / {kinds[kind, 'test']}"
    for count in (len(language.articles), len(language.queries)):
        assert re.search(rf"\| {count}\b", readme)
