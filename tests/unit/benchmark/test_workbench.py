"""What DATA may name, and what opens from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.headroom import headroom_record, measure_headroom
from rl_rewriter.benchmark.stores import StoreConfig, chosen_embedder, open_retriever
from rl_rewriter.benchmark.workbench import load_collection, open_workbench
from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from tests.beir import write_beir, write_rows
from tests.forms import HEADROOM, assert_has_form
from tests.support import CHINESE_DOCUMENTS, DOCUMENTS

TFIDF = StoreConfig(embedder="tfidf")


def test_a_folder(shop_folder: Path) -> None:
    bench = open_workbench(str(shop_folder), TFIDF)
    assert (bench.name, bench.n_documents, bench.embedder) == ("shop", 24, "tfidf")
    assert (len(bench.train), len(bench.test), bench.protocol) == (40, 20, "split")
    assert bench.groups_of(bench.test[:6]) == ["refund"] * 5 + ["abroad"]
    assert bench.reward.metric == Metric("ndcg", 10)


def test_a_table_with_documents_beside_it_and_what_is_odd_in_it(tmp_path: Path) -> None:
    write_rows(tmp_path / "corpus.jsonl", [{"id": k, "text": v} for k, v in DOCUMENTS.items()])
    rows = "money back?,refund,train\nMoney back?,refund,test\nsend it back,return,train\n"
    (tmp_path / "asked.csv").write_text(f"question,document,split\n{rows}")
    bench = open_workbench(str(tmp_path / "asked.csv"), TFIDF)
    assert (bench.name, bench.n_documents, bench.protocol) == ("asked", 12, "split")
    assert [query.text for query in (*bench.train, *bench.test)] == ["send it back", "Money back?"]
    [note] = bench.notes
    assert note.startswith("1 training query left out because a held-out query has the same words")


def test_documents_of_a_store_of_ones_own_are_not_looked_for(tmp_path: Path) -> None:
    (tmp_path / "asked.csv").write_text("question,document\nmoney back?,anything\n")
    name = str(tmp_path / "asked.csv")
    assert load_collection(name, documents_elsewhere=True).documents == {}
    assert load_collection("demo", documents_elsewhere=True).documents == {}
    with pytest.raises(InputError, match=r"asked\.csv comes without documents: put them beside it"):
        load_collection(name)


def test_the_bundled_corpora() -> None:
    english, chinese = load_collection("demo"), load_collection("demo-zh")
    assert (english.name, chinese.name) == ("demo", "demo-zh")
    assert english.protocol == chinese.protocol == "split"
    assert english.notes == chinese.notes == ()
    assert len(english.queries) > len(chinese.queries) > 100


def test_the_fixture_and_the_simulator() -> None:
    fixture = open_workbench("fixture", TFIDF)
    assert (len(fixture.train), len(fixture.test)) == (8, 4)
    assert fixture.reward.metric == Metric("hits", 3)
    worlds = [open_workbench(name, TFIDF) for name in ("simulator", "simulator:0", "simulator:1")]
    assert worlds[0].test == worlds[1].test != worlds[2].test
    assert set(worlds[0].kinds) == {q.id for q in (*worlds[0].train, *worlds[0].test)}


def test_another_metric_changes_the_metric_alone(shop_folder: Path) -> None:
    assert open_workbench(str(shop_folder), TFIDF, metric=Metric("mrr", 5)).reward.metric == (
        Metric("mrr", 5)
    )
    reward = open_workbench("fixture", TFIDF, metric=Metric("recall", 3)).reward
    assert (reward.metric, reward.rewrite_cost) == (Metric("recall", 3), 0.05)


@pytest.mark.parametrize("data", ["folder", "fixture"])
def test_a_limit_of_queries(shop_folder: Path, data: str) -> None:
    name = str(shop_folder) if data == "folder" else data
    bench = open_workbench(name, TFIDF, limit_queries=3)
    assert (len(bench.train), len(bench.test)) == (3, 3)
    assert bench.protocol == "split"
    for wrong in (0, -1):
        with pytest.raises(InputError, match=f"must be at least 1, got {wrong}"):
            open_workbench(name, TFIDF, limit_queries=wrong)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("nowhere", "there is no file or folder nowhere; DATA is a judged collection"),
        ("simulator:x", "the simulator's seed must be a whole number, got 'x'"),
        ("simulator:1.5", "the simulator's seed must be a whole number, got '1.5'"),
        ("simulator:-1", "seed must be at least 0, got -1"),
        ("demo-fr", "there is no file or folder demo-fr"),
    ],
)
def test_data_that_is_not_there(data: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        open_workbench(data, TFIDF)
    assert str(caught.value).startswith(complaint)


def test_an_unknown_base_is_refused() -> None:
    with pytest.raises(InputError, match="unknown base retriever 'faiss'; use one of chroma, bm25"):
        StoreConfig(base="faiss")


def test_a_chroma_of_ones_own_needs_a_collection_and_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name the collection of your Chroma with --collection"):
        StoreConfig(chroma_path=tmp_path)
    with pytest.raises(InputError, match="holds vectors that TF-IDF cannot make"):
        StoreConfig(chroma_path=tmp_path, collection="docs", embedder="tfidf")


def test_chinese_documents_take_the_retriever_that_reads_them(tmp_path: Path) -> None:
    folder = write_beir(
        tmp_path,
        documents=CHINESE_DOCUMENTS,
        queries=[{"_id": "q", "text": "退款"}],
        qrels={"qrels.tsv": {"q": {"tuikuan": 1.0}}},
    )
    collection = load_collection(str(folder))
    assert chosen_embedder(collection, StoreConfig()) == "tfidf"
    assert chosen_embedder(collection, StoreConfig(base="bm25")) == "bm25"
    assert chosen_embedder(collection, StoreConfig(embedder="minilm")) == "minilm"
    assert open_retriever(collection, StoreConfig()).name == "tfidf"
    assert chosen_embedder(load_collection("demo"), StoreConfig()) == "minilm"


def test_headroom_on_a_split_is_about_its_held_out_queries(shop_folder: Path) -> None:
    bench = open_workbench(str(shop_folder), TFIDF)
    record = headroom_record(bench, measure_headroom(bench))
    assert_has_form(record, HEADROOM)
    assert (record["schema"], record["n_queries"]) == (1, 20)
    assert set(record["actions"]) < set(bench.actions.names)  # nobody has a history
    assert {"keep", "keywords", record["best_fixed"]["action"]} <= set(record["actions"])


def test_headroom_without_a_split_is_about_all_queries(tmp_path: Path, shop_folder: Path) -> None:
    judged = load_collection(str(shop_folder))
    folder = write_beir(
        tmp_path / "one",
        documents=judged.documents,
        queries=[
            {"_id": q.id, "text": q.text, "need": judged.groups[q.id]} for q in judged.queries
        ],
        qrels={"qrels.tsv": judged.qrels},
    )
    bench = open_workbench(str(folder), TFIDF)
    assert bench.protocol == "cv5"
    assert headroom_record(bench, measure_headroom(bench))["n_queries"] == 60


def test_headroom_of_the_fixture_is_nothing() -> None:
    bench = open_workbench("fixture", TFIDF)
    record = headroom_record(bench, measure_headroom(bench))
    assert record["verdict"] == "nothing_to_learn"
    assert record["predictable"] is None
