"""The headroom of whole collections, and the object that is printed."""

from __future__ import annotations

import dataclasses
import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from rl_rewriter.benchmark.headroom import headroom_record, measure_headroom, sample_of
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import plain_outcomes
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.cli import show
from rl_rewriter.evaluation.headroom import Headroom
from tests.beir import shop, write_beir
from tests.support import DOCUMENTS

TFIDF = StoreConfig(embedder="tfidf")


@pytest.fixture
def twenty(tmp_path: Path) -> Workbench:
    """20 queries about help-centre articles; keywords help some of them."""
    ids = list(DOCUMENTS)
    forms = ("could you please tell me about {}", "{}")
    queries = [
        {"_id": f"{id_}.{form}", "text": template.format(" ".join(DOCUMENTS[id_].split()[3:6]))}
        for form, template in enumerate(forms)
        for id_ in ids[:10]
    ]
    qrels = {
        str(query["_id"]): {id_: 1.0 for id_ in ids if str(query["_id"]).startswith(f"{id_}.")}
        for query in queries
    }
    folder = write_beir(
        tmp_path / "twenty", documents=DOCUMENTS, queries=queries, qrels={"qrels.tsv": qrels}
    )
    return open_workbench(str(folder), TFIDF)


def text_of(bench: Workbench, found: Headroom) -> str:
    console = Console(width=120, record=True, file=StringIO())
    show.headroom(console, bench, found)
    return console.export_text()


def test_twenty_queries_are_too_few_and_the_number_needed_is_told(twenty: Workbench) -> None:
    found = measure_headroom(twenty)
    record = headroom_record(twenty, found)
    assert (record["n_queries"], record["verdict"]) == (20, "too_small")
    assert record["predicted"] is None
    assert record["queries_needed"] >= 30
    text = text_of(twenty, found)
    assert text.startswith(show.VERDICTS["too_small"])
    assert f"about {record['queries_needed']} are needed" in text


def test_the_record_is_json_with_all_that_was_found() -> None:
    bench = open_workbench("simulator:2", TFIDF, limit_queries=100)
    found = measure_headroom(bench)
    record = json.loads(json.dumps(headroom_record(bench, found)))
    assert record["verdict"] == "worth_learning"
    assert record["oracle_correction"] == "half_judgements"
    assert record["queries_needed"] is None
    low, high = record["predicted"]["ci95"]
    assert low < record["predicted"]["delta"] < high
    assert record["predicted"]["value"] == pytest.approx(
        record["best_fixed"]["value"] + record["predicted"]["delta"]
    )
    kinds = record["by_kind"]
    assert set(kinds) == {"chatty", "follow_up", "formal", "vague", "wordy"}
    assert sum(figures["n"] for figures in kinds.values()) == record["n_queries"]
    for name in ("keep", "best_fixed", "oracle", "differ_share"):
        mean = sum(kind["n"] * kind[name] for kind in kinds.values()) / record["n_queries"]
        whole = record[name]["value"] if name == "best_fixed" else record[name]
        assert mean == pytest.approx(whole)


def test_the_text_says_first_what_follows_and_then_where_the_gain_sits() -> None:
    bench = open_workbench("simulator:2", TFIDF, limit_queries=100)
    text = text_of(bench, measure_headroom(bench))
    assert text.startswith(show.VERDICTS["worth_learning"])
    assert "chance is taken out by choosing by one half of the relevant documents" in text
    assert "best for each" in text
    kinds = [line.split()[0] for line in text.splitlines()[-5:]]
    assert sorted(kinds) == ["chatty", "follow_up", "formal", "vague", "wordy"]


def test_no_number_is_told_where_hindsight_gains_nothing(twenty: Workbench) -> None:
    found = dataclasses.replace(measure_headroom(twenty), keep=1.0, oracle=1.0, queries_needed=None)
    text = text_of(twenty, found)
    assert text.startswith(show.VERDICTS["too_small"])
    assert "even the best action for each query, in hindsight, gains less than what" in text
    assert "are needed" not in text


def test_the_fixture_has_nothing_to_learn_and_no_number_to_tell() -> None:
    bench = open_workbench("fixture", TFIDF)
    record = headroom_record(bench, measure_headroom(bench))
    assert (record["verdict"], record["queries_needed"]) == ("nothing_to_learn", None)
    assert record["differ_share"] == 0.0
    assert record["oracle_corrected"] == record["oracle"] == record["keep"]


def test_held_out_queries_have_no_part_in_the_scale_of_states(
    twenty: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The regression scales states by what each fold learns from; nothing else may."""
    whole = measure_headroom(twenty)
    monkeypatch.delattr("rl_rewriter.features.feature_set.FeatureSet.fitted_on")
    assert measure_headroom(twenty) == whole


def test_a_sample_knows_groups_kinds_and_halves(tmp_path: Path) -> None:
    bench = open_workbench(str(shop(tmp_path / "shop")), TFIDF)
    outcomes, features = plain_outcomes(bench, bench.test)
    sample = sample_of(bench, outcomes, features)
    assert sample.groups == bench.groups_of(bench.test)
    assert sample.kinds == tuple(bench.kinds[query.id] for query in bench.test)
    assert sample.halves is not None
    assert sample.halves.shape[1:] == (2, *outcomes.mask.shape)
    assert np.isfinite(sample.halves).all()
