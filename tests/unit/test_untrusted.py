"""What is refused before it is read or parsed, and that nothing real is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.untrusted import is_too_much_json, parse_json, read_regular


def test_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_regular(tmp_path / "a", 10) == read_regular(tmp_path / "link", 10) == b"x" * 10
    with pytest.raises(InputError, match="is longer than 9 bytes"):
        read_regular(tmp_path / "a", 9)


def test_what_is_no_file_is_neither_waited_for_nor_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is no regular file"):
            read_regular(path, 10)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 10)


@pytest.mark.parametrize(
    "content", [b"[" * 6_000_000, b"[" + b"[]," * 2_500_000 + b"[]]", b'{"a":' * 1_500_000]
)
def test_json_of_too_many_values_is_refused(content: bytes) -> None:
    assert is_too_much_json(content)
    assert is_too_much_json(content.decode())
    with pytest.raises(ValueError, match="would take more than"):
        parse_json(content)


def test_deep_json_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(b"[" * 100_000)


def test_the_largest_real_statistics_pass() -> None:
    terms = {f"term number {number}": number for number in range(100_000)}
    content = json.dumps({"document_frequency": terms}).encode()
    assert not is_too_much_json(content)
    assert parse_json(content) == {"document_frequency": terms}


def test_one_long_text_passes() -> None:
    assert not is_too_much_json(b'"' + b"a" * (16 << 20) + b'"')
