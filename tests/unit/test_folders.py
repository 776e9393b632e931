"""Folders are replaced as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.folders import replacing


def test_a_new_folder_appears_with_its_parents_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "folder"
    with replacing(target) as folder:
        (folder / "file").write_text("new")
        assert not target.exists()
    assert (target / "file").read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["folder"]


def test_an_older_folder_is_replaced_entirely(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with replacing(target) as folder:
        (folder / "file").write_text("new")
    assert [path.name for path in target.iterdir()] == ["file"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def _interrupted(target: Path) -> None:
    with replacing(target) as folder:
        (folder / "file").write_text("half")
        raise KeyboardInterrupt


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(target)
    assert (target / "old").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_failed_exchange_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")

    def write() -> None:
        with replacing(target) as folder:
            folder.rmdir()  # what is to take the place is gone

    with pytest.raises(FileNotFoundError):
        write()
    assert (target / "old").read_text() == "old"


def test_a_relative_folder_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with replacing(Path("policy")) as folder:
        (folder / "file").write_text("x")
    assert (tmp_path / "policy" / "file").exists()
