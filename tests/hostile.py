"""Files as an attacker or a failing disk leaves them: for tests and for ``benchmarks``."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import RewriterError
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.policies.checkpoint import load_checkpoint, save_checkpoint
from rl_rewriter.policies.checkpoint_files import MAX_FILE_BYTES
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from tests.logged import decision, feedback
from tests.support import DOCUMENTS, fixed_checkpoint

WEIGHTS, MANIFEST, STATISTICS = "policy.safetensors", "manifest.json", "statistics.json"
PARTS = (WEIGHTS, MANIFEST, STATISTICS)
MIB = 1 << 20

Attack = Callable[[Path], object]
"""Spoils a good file, or a folder with a good checkpoint."""


def write_checkpoint(folder: Path) -> Path:
    """A good checkpoint."""
    retriever = HybridRetriever(Bm25Retriever(DOCUMENTS), Bm25Retriever(DOCUMENTS))
    save_checkpoint(fixed_checkpoint(retriever, "fuse_bm25@0.4"), folder)
    return folder


def log_lines(n: int = 20) -> bytes:
    """A good log."""
    records = [r for i in range(n) for r in (decision(f"d{i}"), feedback(f"d{i}"))]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def export_lines(n: int = 20) -> bytes:
    """A good export of OpenTelemetry."""
    spans = [
        {
            "name": "search",
            "context": {"trace_id": f"{i + 1:032x}", "span_id": f"{i + 1:016x}"},
            "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T00:00:01Z",
            "attributes": {
                "openinference.span.kind": "RETRIEVER",
                "input.value": "money back?",
                "retrieval.documents": '[{"document.id": "a", "document.score": 0.5}]',
                "rl_rewriter.record": json.dumps(decision(f"d{i}")) if i % 2 else "",
            },
        }
        for i in range(n)
    ]
    return b"".join(json.dumps(span).encode() + b"\n" for span in spans)


def open_checkpoint(folder: Path) -> str:
    """Load it: "loaded", or the family's error in words; any other error passes through."""
    try:
        load_checkpoint(folder)
    except RewriterError as error:
        return _sentence(error)
    return "loaded"


def open_log(path: Path) -> str:
    """Read it in both ways; "loaded" where nothing was wrong with it."""
    report = ReadReport(warns=False)
    try:
        read_interactions(path, report=report)
        dataset(path)
    except RewriterError as error:
        return _sentence(error)
    return report.problems[0] if report.problems else "loaded"


def open_export(path: Path) -> str:
    """Import it; "loaded" where nothing was wrong with it."""
    out = path.with_name("imported.jsonl")
    try:
        report = import_logs([path], out, ImportConfig(tool="otel", replace=True))
    except RewriterError as error:
        return _sentence(error)
    return report.problems[0] if report.problems else "loaded"


def _sentence(error: RewriterError) -> str:
    text = str(error)
    if "\n" in text or len(text) > 1_000 or not text:
        raise AssertionError(f"not one sentence: {text[:2000]!r}")
    return text


def mutations(content: bytes, rng: np.random.Generator, n: int) -> Iterator[bytes]:
    """``n`` spoilt copies: bits flipped, cut short, bytes overwritten, put in, taken out, twice."""
    for number in range(n):
        at, end = (int(place) for place in sorted(rng.integers(0, len(content) + 1, 2)))
        kind = number % 6
        if kind == 0:
            spoilt = bytearray(content)
            for place in rng.integers(0, len(content), int(rng.integers(1, 20))):
                spoilt[place] ^= 1 << int(rng.integers(8))
            yield bytes(spoilt)
        elif kind == 1:
            yield content[:at]
        elif kind == 2:
            yield content[:at] + rng.bytes(min(end - at, 40)) + content[min(end, at + 40) :]
        elif kind == 3:
            yield content[:at] + _TOKENS[int(rng.integers(len(_TOKENS)))] + content[at:]
        elif kind == 4:
            yield content[:at] + content[end:]
        else:
            yield content[:end] + content[at:]


_TOKENS = (
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"1e400",
    b"9" * 5_000,
    b"NaN",
    b"-Infinity",
    b"null",
    b'""',
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"{}",
    b'"\\ud800"',
    b"true,",
)


def reseal(folder: Path) -> None:
    """Make the manifest describe what is there, as who makes a checkpoint can."""
    record = json.loads((folder / MANIFEST).read_bytes())
    for name in (WEIGHTS, STATISTICS):
        record["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(record))


def _resealed(name: str, change: Callable[[Path], object]) -> Attack:
    def attack(folder: Path) -> None:
        change(folder / name)
        reseal(folder)

    return attack


def _made(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Values; large ones are functions that make them, so that they aren't made for nothing."""
    return {name: value() if callable(value) else value for name, value in changed.items()}


def _manifest(**changed: Any) -> Attack:
    def attack(folder: Path) -> None:
        record = json.loads((folder / MANIFEST).read_bytes())
        (folder / MANIFEST).write_text(json.dumps({**record, **_made(changed)}))

    return attack


def _statistics(**changed: Any) -> Attack:
    def change(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **_made(changed)}))

    return _resealed(STATISTICS, change)


def _tensors(header: Mapping[str, Any] | bytes, n_bytes: int = 0) -> Attack:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = struct.pack("<Q", len(text)) + text
    return _resealed(WEIGHTS, lambda path: path.write_bytes(start + bytes(n_bytes)))


def _tensor(shape: list[int], n_bytes: int, dtype: str = "F32") -> dict[str, Any]:
    described = {"dtype": dtype, "shape": shape, "data_offsets": [0, n_bytes]}
    return {"policy.0.weight": described}


def _replaced(name: str, make: Callable[[Path], object]) -> Attack:
    def attack(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return attack


def _swapped(folder: Path) -> None:
    weights = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes((folder / STATISTICS).read_bytes())
    (folder / STATISTICS).write_bytes(weights)
    reseal(folder)


def _sparse(n_bytes: int) -> Attack:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(n_bytes)

    return make


CHECKPOINT_ATTACKS: Mapping[str, Attack] = {
    "deep manifest": lambda f: (f / MANIFEST).write_bytes(b'{"a":' * 3_000_000),
    "manifest of empty lists": lambda f: (f / MANIFEST).write_bytes(
        b'{"schema":1,"actions":[' + b"[]," * 5_000_000 + b"[]]}"
    ),
    "manifest of keys": lambda f: (f / MANIFEST).write_text(
        json.dumps({f"{i:x}": 1 for i in range(1_500_000)}, separators=(",", ":"))
    ),
    "manifest of one wide text": lambda f: (f / MANIFEST).write_text(
        '{"a":"\U0001f600' + "a" * (MAX_FILE_BYTES - 20) + '"}'
    ),
    "endless manifest": _replaced(MANIFEST, _sparse(1 << 40)),
    "endless weights": _replaced(WEIGHTS, _sparse(1 << 40)),
    "largest weights of zeros": _resealed(WEIGHTS, _sparse(MAX_FILE_BYTES)),
    "header of 10^18 bytes": _resealed(
        WEIGHTS, lambda path: path.write_bytes(struct.pack("<Q", 10**18) + b"{}")
    ),
    "header of 2 MiB": _tensors(b'{"a":' * 400_000),
    "shape of 2^40 rows": _tensors(_tensor([1 << 40, 1 << 20], 4), 4),
    "shape that overflows": _tensors(_tensor([1 << 62, 4], 0)),
    "shape of nothing": _tensors(_tensor([0, 1 << 60], 0)),
    "negative shape": _tensors(_tensor([-1, 2], 8), 8),
    "largest layer": _tensors(_tensor([2048, 2000], 2048 * 8000), 2048 * 8000),
    "float64 weights": _tensors(_tensor([2, 2], 32, "F64"), 32),
    "unknown numbers": _tensors(_tensor([2, 2], 4, "F8_E4M3"), 4),
    "weights and terms swapped": _swapped,
    "terms without end": _statistics(
        document_frequency=lambda: {f"t{i}": 1 for i in range(1_000_000)}
    ),
    "infinite documents": _statistics(n_documents=1e400),
    "no number of documents": _statistics(n_documents=float("nan")),
    "documents of 4000 digits": _statistics(n_documents=10**4000),
    "negative frequency": _statistics(document_frequency={"a": -5}),
    "frequency above all documents": _statistics(document_frequency={"a": 10**9}),
    "topic weights that are none": _statistics(topics=[{"word": "a", "terms": {"a": 1e999}}]),
    "topics that are a text": _statistics(topics="abc"),
    "actions of other types": _manifest(actions=[1, 2, 3]),
    "100,000 actions": _manifest(
        actions=lambda: [{"name": "keep", "type": "Keep", "needs": 0, "settings": {}}] * 100_000
    ),
    "an action with a long name": _manifest(
        actions=[{"name": "k" * 1_000_000, "type": "Keep", "needs": 0, "settings": {}}]
    ),
    "an action with a control character": _manifest(
        actions=[{"name": "keep\x1b[2J\n", "type": "Keep", "needs": 0, "settings": {}}]
    ),
    "an action of Python's own": _manifest(
        actions=[{"name": "keep", "type": "__import__", "needs": 0, "settings": {"name": "os"}}]
    ),
    "an action named like a format": _manifest(
        actions=[{"name": "{0.__class__}", "type": "LlmRewrite", "needs": 0, "settings": {}}]
    ),
    "columns that are a text": _manifest(columns="abc"),
    "files elsewhere": _manifest(files={"../../etc/passwd": "0"}),
    "training that is a list": _manifest(training=[1]),
    "a pipe for the manifest": _replaced(MANIFEST, os.mkfifo),
    "a pipe for the weights": _replaced(WEIGHTS, os.mkfifo),
    "a folder for the terms": _replaced(STATISTICS, Path.mkdir),
    "a link to a device": _replaced(WEIGHTS, lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": _replaced(WEIGHTS, lambda path: path.symlink_to(path)),
    "a pickle": _resealed(WEIGHTS, lambda path: path.write_bytes(b"\x80\x04cos\nsystem\n.")),
}
"""What spoils a good checkpoint's folder; none of it may load."""


def _packed(unit: bytes, n_bytes: int) -> bytes:
    """Gzip of ``unit`` repeated: one member after the other, each of 16 MiB."""
    member = gzip.compress(unit * (16 * MIB // len(unit)))
    return member * (n_bytes // (16 * MIB))


def _line(make: Callable[[], bytes]) -> Attack:
    return lambda path: path.write_bytes(make() + b"\n" + log_lines(1))


_VALUES: Mapping[str, Callable[[], bytes]] = {
    "deep lists": lambda: b"[" * (8 * MIB),
    "deep objects": lambda: b'{"a":' * (3 * MIB),
    "empty lists": lambda: b"[" + b"[]," * (5 * MIB) + b"[]]",
    "keys": lambda: b"{" + b",".join(b'"%x":1' % i for i in range(1_400_000)) + b"}",
    "a wide text": lambda: b'"\xf0\x9f\x98\x80' + b"a" * (16 * MIB - 10) + b'"',
    "a number of 10^7 digits": lambda: b"9" * (10 * MIB),
    "floats": lambda: b"[" + b"1e9," * (3 * MIB) + b"1]",
}

LINE_ATTACKS: Mapping[str, Attack] = {
    **{name: _line(make) for name, make in _VALUES.items()},
    "a line of 100 MiB": lambda path: path.write_bytes(b"a" * (100 * MIB)),
    "gzip of 2 GiB of zeros": lambda path: path.write_bytes(_packed(b"\0", 2048 * MIB)),
    "gzip of 2 GiB of blank lines": lambda path: path.write_bytes(_packed(b"\n", 2048 * MIB)),
    "gzip of 2 GiB of nonsense": lambda path: path.write_bytes(_packed(b"x\n", 2048 * MIB)),
    "gzip of one long line": lambda path: path.write_bytes(_packed(b'{"a":', 1024 * MIB)),
    "gzip in gzip": lambda path: path.write_bytes(gzip.compress(_packed(b"\0", 2048 * MIB))),
}
"""What spoils a file of lines, a log as well as an export."""

RECORD_ATTACKS: Mapping[str, Mapping[str, Any]] = {
    "infinite time": {"time": float("inf")},
    "cost of 10^400": {"cost": 10**400},
    "200,000 probabilities": {"probabilities": lambda: {f"a{i}": 5e-6 for i in range(200_000)}},
    "300,000 documents": {
        "documents": lambda: [{"id": str(i), "score": 0.5} for i in range(300_000)]
    },
    "a million states": {"state": lambda: [0.5] * 1_000_000},
    "probabilities that are a list": {"probabilities": [0.5, 0.5]},
    "documents that are numbers": {"documents": [1, 2]},
    "tags within tags": {"tags": {"a": {"a": [[[[[1]]]]]}}},
    "propensity that is a text": {"propensity": "1"},
    "action that is an object": {"action": {"name": "keep"}},
    "tiny propensity": {"propensity": 5e-324},
    "a time in another age": {"time": 1e300},
}
"""Fields of one decision among good ones."""


def spoil_record(path: Path, changed: Mapping[str, Any]) -> None:
    """A log with one such decision."""
    path.write_bytes(
        json.dumps({**decision("bad"), **_made(changed)}).encode() + b"\n" + log_lines(3)
    )
