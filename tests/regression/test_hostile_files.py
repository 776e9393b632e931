"""Whatever a stranger's file holds: it loads, or one clear sentence of the family says why not.

Time and memory are measured by ``python -m benchmarks.hostile_files``, over far more mutations.
"""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.store import read_records
from tests.hostile import (
    CHECKPOINT_ATTACKS,
    LINE_ATTACKS,
    MANIFEST,
    PARTS,
    RECORD_ATTACKS,
    export_lines,
    log_lines,
    mutations,
    open_checkpoint,
    open_export,
    open_log,
    reseal,
    spoil_record,
    write_checkpoint,
)

N_MUTATIONS = 120


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("good") / "policy")


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "policy"))


def test_the_good_files_are_good(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(log_lines())
    (tmp_path / "export.jsonl").write_bytes(export_lines())
    assert open_checkpoint(folder) == "loaded"
    assert open_log(tmp_path / "log.jsonl") == "loaded"
    assert open_export(tmp_path / "export.jsonl") == "loaded"


@pytest.mark.parametrize("name", CHECKPOINT_ATTACKS)
def test_no_attack_on_a_checkpoint_loads(folder: Path, name: str) -> None:
    CHECKPOINT_ATTACKS[name](folder)
    assert open_checkpoint(folder) != "loaded"


@pytest.mark.parametrize("sealed", [False, True], ids=["as is", "with digests made to fit"])
@pytest.mark.parametrize("part", PARTS)
def test_spoilt_parts_of_checkpoints_end_in_a_sentence(
    folder: Path, part: str, sealed: bool
) -> None:
    rng = np.random.default_rng(len(part))
    content, manifest = (folder / part).read_bytes(), (folder / MANIFEST).read_bytes()
    told = set()
    for spoilt in mutations(content, rng, N_MUTATIONS):
        (folder / MANIFEST).write_bytes(manifest)
        (folder / part).write_bytes(spoilt)
        if sealed and part != MANIFEST:
            reseal(folder)
        told.add(open_checkpoint(folder))
    assert len(told - {"loaded"}) > (0 if part != MANIFEST and not sealed else 5)


@pytest.mark.parametrize("part", PARTS)
def test_every_truncation_of_a_checkpoint_is_refused(folder: Path, part: str) -> None:
    content = (folder / part).read_bytes()
    for size in range(0, len(content), max(1, len(content) // 60)):
        (folder / part).write_bytes(content[:size])
        assert open_checkpoint(folder) != "loaded"


@pytest.mark.parametrize("name", LINE_ATTACKS)
def test_attacks_by_lines_are_named(tmp_path: Path, name: str) -> None:
    for opened in (open_log, open_export):
        path = tmp_path / "file.jsonl"
        LINE_ATTACKS[name](path)
        assert opened(path) != "loaded"


@pytest.mark.parametrize("kind", ["log", "log.gz", "log.parquet", "export", "export.gz"])
def test_spoilt_logs_and_exports_end_in_a_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"file.jsonl.{kind.partition('.')[2]}".rstrip(".")
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(export_lines() if kind.startswith("export") else log_lines())
    if kind == "log.parquet":
        path = tmp_path / "file.parquet"
        write_records(read_records(plain), path)
    elif kind.endswith("gz"):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        path = plain
    opened = open_export if kind.startswith("export") else open_log
    told = set()
    for spoilt in mutations(path.read_bytes(), np.random.default_rng(len(kind)), N_MUTATIONS):
        path.write_bytes(spoilt)
        told.add(opened(path))
    assert len(told - {"loaded"}) > 3


@pytest.mark.parametrize("name", RECORD_ATTACKS)
def test_no_field_of_a_record_breaks_what_reads_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log.jsonl"
    spoil_record(path, RECORD_ATTACKS[name])
    open_log(path)
    assert len(list(read_records(path))) >= 6


def test_a_pipe_among_rotated_files_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_lines(3))
    os.mkfifo(tmp_path / "log.jsonl.20260131T235959.123456Z")
    assert len(list(read_records(path))) == 6


def test_a_device_is_no_log() -> None:
    with pytest.raises(InputError, match="is a device, which may have no end"):
        next(read_records("/dev/zero"))
