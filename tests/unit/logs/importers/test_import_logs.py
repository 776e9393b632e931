"""An import as a whole: privacy, files, messages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs
from rl_rewriter.logs.records import decision_record
from rl_rewriter.logs.store import read_records
from rl_rewriter.policies.decider import kept
from rl_rewriter.types import Query
from tests.unit.logs.importers.parts import (
    QUESTION,
    import_file,
    import_rows,
    run,
    thumb,
    write_lines,
)


def test_imported_decisions_have_the_fields_of_our_own_in_their_order(tmp_path: Path) -> None:
    own = decision_record(kept(Query(QUESTION), "untrained"))
    assert list(import_rows(tmp_path, "langsmith", [run("r")]).decision) == list(own)


def test_the_log_becomes_a_data_set_of_unknown_propensities(tmp_path: Path) -> None:
    rows = [run(f"r{n}", trace_id=f"t{n}", parent=f"t{n}") for n in range(20)]
    feedback = [thumb(f"t{n}", n % 2, trace_id=f"t{n}", key="helpful") for n in range(20)]

    found = import_rows(tmp_path, "langsmith", rows, feedback)

    bandit, report = dataset(found.log)
    assert (report.rows, report.without_propensity) == (20, 20)
    assert bandit.action_names == ("keep",)
    assert bandit.rewards.tolist() == [0.0, 1.0] * 10


@pytest.mark.parametrize("privacy", ["hash", "none"])
def test_words_stay_out_of_the_log(tmp_path: Path, privacy: str) -> None:
    rows = [
        run("root", "chain", inputs={"input": "a secret?"}),
        run("r", parent="root", inputs={"query": "my secret"}),
    ]

    found = import_rows(tmp_path, "langsmith", rows, log_queries=privacy)

    assert "secret" not in found.log.read_text()
    record = found.decision
    assert record["action"] == "imported:rewrite"
    own = decision_record(kept(Query("a secret?"), "untrained"), log_queries=privacy)  # type: ignore[arg-type]
    assert record["query"] == own["query"]
    assert (record["texts"] == [None]) == (privacy == "none")


def test_several_files_and_folders_are_one_export(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "1.jsonl.gz").write_bytes(gzip.compress(json.dumps(run("r1")).encode()))
    (folder / "2.json").write_text(json.dumps([run("r2"), run("root", "chain")]))
    alone = write_lines(tmp_path / "3.jsonl", [run("r3")])

    report = import_logs([folder, alone], tmp_path / "log.jsonl", ImportConfig(tool="langsmith"))

    assert (report.read, report.decisions) == (4, 3)


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl.gz"])
def test_the_log_takes_the_form_of_its_name(tmp_path: Path, name: str) -> None:
    export = write_lines(tmp_path / "export.jsonl", [run("r"), thumb("r")])
    import_logs([export], tmp_path / name, ImportConfig(tool="langsmith"))
    assert [record["type"] for record in read_records(tmp_path / name)] == ["decision", "feedback"]


def test_a_bulk_export_in_parquet_holds_json_as_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {**row, **{key: json.dumps(row[key]) for key in ("inputs", "outputs", "extra")}}
        for row in (run("root", "chain"), run("r", parent="root"))
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "runs.parquet")

    found = import_file(tmp_path, "langsmith", tmp_path / "runs.parquet")

    assert (found.decision["query"], len(found.decision["documents"])) == (QUESTION, 2)


def test_a_csv_of_observations(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text(
        "id,traceId,type,name,startTime,endTime,input,output,level\n"
        'o,t,RETRIEVER,r,2026-01-01T00:00:00Z,,how?,"[{""id"": ""a"", ""content"": ""x""}]",\n'
    )
    record = import_file(tmp_path, "langfuse", tmp_path / "o.csv").decision
    assert (record["query"], record["documents"]) == ("how?", [{"id": "a", "score": None}])


def test_a_log_that_exists_is_replaced_only_when_asked(tmp_path: Path) -> None:
    import_rows(tmp_path, "langsmith", [run("old")])
    with pytest.raises(InputError, match=r"log\.jsonl exists; name another file"):
        import_rows(tmp_path, "langsmith", [run("new")])
    with pytest.raises(InputError, match="holds no row of langfuse"):
        import_rows(tmp_path, "langfuse", [run("new")], replace=True)
    assert [r["id"] for r in read_records(tmp_path / "log.jsonl")] == ["old"]
    found = import_rows(tmp_path, "langsmith", [run("new")], replace=True)
    assert found.decision["id"] == "new"


def test_the_export_is_never_written_over(tmp_path: Path) -> None:
    export = write_lines(tmp_path / "log.jsonl", [run("r")])
    with pytest.raises(InputError, match="is the export itself"):
        import_file(tmp_path, "langsmith", export, replace=True)


def test_an_export_of_another_tool_is_recognised(tmp_path: Path) -> None:
    message = (
        r"export\.jsonl holds no row of phoenix: line 1 has the keys id, trace_id, .*; "
        "it looks like an export of langsmith"
    )
    with pytest.raises(InputError, match=message):
        import_rows(tmp_path, "phoenix", [run("r")])


def test_an_export_without_retrievals_says_what_it_has(tmp_path: Path) -> None:
    rows = [run("a", "llm"), run("b", "llm"), run("c", error="x")]
    message = (
        r"holds no retrieval that could be imported, of 3 rows \(span that is no retrieval: 2, "
        r"retrieval that failed: 1\)"
    )
    with pytest.raises(InputError, match=message):
        import_rows(tmp_path, "langsmith", rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["export.jsonl"]


def test_strict_imports_stop_and_write_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"export\.jsonl line 2 holds a span without an id"):
        import_rows(tmp_path, "langsmith", [run("r"), run("", id=None)], strict=True)
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tool": "helicone"}, "unknown tool 'helicone'; exports are read from langsmith, langf"),
        ({"tool": "otel", "log_queries": "no"}, "log_queries must be .* got 'no'"),
    ],
)
def test_unknown_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ImportConfig(**settings)


def test_progress_is_told_for_reading_and_writing(tmp_path: Path) -> None:
    export = write_lines(tmp_path / "export.jsonl", [run(f"r{n}") for n in range(1_500)])
    told: list[tuple[str, int, int]] = []

    def listen(stage: str, done: int, total: int) -> None:
        told.append((stage, done, total))

    config = ImportConfig(tool="langsmith")
    import_logs([export], tmp_path / "log.jsonl", config, on_progress=listen)

    assert [stage for stage, _, _ in told] == ["export.jsonl"] * 2 + ["write"] * 2
    assert told[-1] == ("write", 1_000, 1_500)
    assert all(done <= total for _, done, total in told)


def test_all_tools_that_write_such_rows_are_named(tmp_path: Path) -> None:
    message: dict[str, Any] = {"resourceSpans": []}
    with pytest.raises(InputError, match="it looks like an export of otel or phoenix"):
        import_rows(tmp_path, "langsmith", [message])
