"""What is written is what is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.benchmark.collections.write import write_beir
from rl_rewriter.errors import InputError
from rl_rewriter.types import Query, Turn


def collection(*, split: bool, id_: str = "q1") -> JudgedCollection:
    history = (Turn("user", "谁付钱？"), Turn("assistant", 'the "shop"\n'))
    return JudgedCollection(
        name="made",
        documents={"d1": "Money\nis back.", "d2": "快递\u2028两天 \ud800"},
        queries=(Query("and when?", history=history, id=id_), Query("b", id="q2")),
        qrels={id_: {"d1": 1 / 3, "d2": 0.0}, "q2": {"d2": 2.0}},
        test_ids=frozenset({"q2"}) if split else None,
        groups={id_: "returns"},
        kinds={"q2": "short"},
    )


@pytest.mark.parametrize("split", [True, False])
def test_written_and_read_again(tmp_path: Path, split: bool) -> None:
    made = collection(split=split)
    write_beir(made, tmp_path / "new" / "made")
    found = read_collection(tmp_path / "new" / "made")
    assert (found.name, found.protocol) == ("made", "split" if split else "cv5")
    assert (found.documents, found.queries) == (made.documents, made.queries)
    assert found.qrels["q2"] == made.qrels["q2"]
    assert found.qrels["q1"] == pytest.approx(made.qrels["q1"])
    assert (found.groups, found.kinds) == (made.groups, made.kinds)
    assert (found.train, found.test) == (made.train, made.test)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="exists and isn't empty; give another folder"):
        write_beir(collection(split=False), tmp_path)
    with pytest.raises(InputError, match="exists and isn't empty"):
        write_beir(collection(split=False), tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("id_", ["a\tb", "a\nb", ""])
def test_an_id_that_breaks_a_table_is_refused_and_nothing_is_left(tmp_path: Path, id_: str) -> None:
    with pytest.raises(InputError, match="cannot be written: it holds a tab or a line"):
        write_beir(collection(split=False, id_=id_), tmp_path / "made")
    assert list(tmp_path.iterdir()) == []
