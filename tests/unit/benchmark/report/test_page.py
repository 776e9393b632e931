"""The page as a file: complete, quiet, and free of what data would like it to do."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from rl_rewriter.benchmark.report.page import plotly_js, write_report
from rl_rewriter.errors import InputError
from tests.run_folders import Made, write_json, write_run_folder

HOSTILE = "<script>window.ran=1</script><img src=x onerror='window.ran=1'></title>\u2028&lt;b&gt;"


@dataclass
class Page(HTMLParser):
    """Elements of a page with their attributes, and the text of each script."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        elif self.cdata_elem is None:
            self.text.append(data)

    def names(self) -> set[str]:
        return {name for name, _ in self.elements}


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text("utf-8"))
    return page


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_run_folder(tmp_path_factory.mktemp("runs") / "plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = [Made(hostile=HOSTILE, n=40), Made(hostile=HOSTILE, n=40, name="second")]
    return write_report(write_run_folder(tmp_path_factory.mktemp("runs") / "hostile", made))


def test_the_report_stands_in_the_run_unless_told_otherwise(tmp_path: Path) -> None:
    run = write_run_folder(tmp_path / "run", [Made(n=30)])
    assert write_report(run) == run / "report.html"
    elsewhere = tmp_path / "new" / "folder" / "page.html"
    assert write_report(run, elsewhere) == elsewhere
    assert elsewhere.read_bytes() == (run / "report.html").read_bytes()
    with pytest.raises(InputError, match="is a folder"):
        write_report(run, tmp_path)


def test_the_page_refers_to_nothing_outside_itself(plain: Path, hostile: Path) -> None:
    for path in (plain, hostile):
        for name, attributes in read(path).elements:
            assert name not in {"iframe", "object", "embed", "base", "img", "audio", "video"}
            assert not {"src", "srcset", "action", "data"} & attributes.keys(), name
            assert not any(attribute.startswith("on") for attribute in attributes), name
            target = attributes.get("href") or "#"
            assert target.startswith(("#", "data:,")), target


def test_the_policy_of_the_page_allows_its_two_scripts_and_no_network(plain: Path) -> None:
    page = read(plain)
    [policy] = [
        attributes["content"]
        for name, attributes in page.elements
        if name == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    types = [a.get("type") for name, a in page.elements if name == "script"]
    assert types == ["application/json", "application/json", None, None]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in page.scripts[2:]
    ]
    assert policy is not None
    assert f"script-src {' '.join(hashes)};" in policy
    assert policy.startswith("default-src 'none';")


def test_nothing_from_data_becomes_an_element(plain: Path, hostile: Path) -> None:
    assert read(hostile).names() <= read(plain).names() | {"a"}  # links to the collections
    assert len(read(hostile).scripts) == 4


def test_data_are_shown_as_they_are(hostile: Path) -> None:
    text = "".join(read(hostile).text)
    assert text.count(f"help-centre{HOSTILE}") >= 3
    for part in ("keywords", "plain", "chroma", "minilm", "article-0", "left out"):
        assert f"{part}{HOSTILE}" in text, part
    assert f"?{HOSTILE}" in text  # queries
    assert f"bought something{HOSTILE}" in text  # conversations
    assert f"within 30 days.{HOSTILE}" in text  # documents


@pytest.mark.parametrize(
    ("counts_alike", "told"),
    [
        (False, "fused with BM25 at weight 0.4"),
        (True, "BM25 of the query with words spelt alike at weight 0.4"),
    ],
)
def test_bm25_alone_is_fused_with_nothing(tmp_path: Path, counts_alike: bool, told: str) -> None:
    run = write_run_folder(tmp_path, [Made(n=30)])
    path = next(run.glob("*/examples.json"))
    examples = json.loads(path.read_text("utf-8"))
    for example in (*examples["helped"], *examples["hurt"]):
        example["counts_alike"] = counts_alike
    write_json(path, examples)
    text = "".join(read(write_report(run)).text)
    assert told in text
    assert ("fused with BM25" in text) is not counts_alike


def test_no_label_of_a_chart_has_markup_from_data(hostile: Path) -> None:
    figures = json.loads(read(hostile).scripts[0])
    labels = re.findall(r"<[^>]*>", json.dumps(figures))
    assert set(labels) == {"<br>", "<extra>", "</extra>"}


def test_the_verdict_comes_first(plain: Path, hostile: Path) -> None:
    for path, start in ((plain, "The policy beats"), (hostile, "The policy beats")):
        text = " ".join("".join(read(path).text).split())
        assert text.index(start) < 200


def test_every_part_is_there(plain: Path) -> None:
    page = read(plain)
    ids = {attributes.get("id") for _, attributes in page.elements}
    charts = ("values", "differences", "gains", "shares", "reward", "kl", "reward-kl")
    assert {f"chart-0-{name}" for name in (*charts, "calibration", "frontier")} <= ids
    assert {"headline", "query-search", "query-table", "reading"} <= ids
    assert set(json.loads(page.scripts[0])) == {id_ for id_ in ids if id_ and is_chart(id_)}
    assert not [name for name, a in page.elements if a.get("class") == "left-out"]


def is_chart(id_: str) -> bool:
    return re.fullmatch(r"chart-\d+-[a-z-]+", id_) is not None and not id_.endswith("-title")


def test_the_per_query_best_is_always_called_hindsight(plain: Path) -> None:
    for text in read(plain).text:
        if "per-query best" in text.lower():
            assert "hindsight" in text or "less what chance" in text or "left out" in text, text


def test_a_run_of_results_alone_says_what_is_left_out(tmp_path: Path) -> None:
    one = {"name": "a", "retriever": "b"}
    write_json(tmp_path / "results.json", {"schema": 1, "collections": [one]})
    page = read(write_report(tmp_path))
    text = " ".join("".join(page.text).split())
    left_out = [name for name, a in page.elements if a.get("class") == "left-out"]
    assert len(left_out) == 9 + 2  # charts, examples, queries
    assert "the run has no per_query.parquet" in text
    assert json.loads(page.scripts[0]) == {}
    assert not {"table", "form"} & page.names()


@pytest.mark.parametrize("key", ["arms", "by_kind", "calibration", "headroom", "tests", "policy"])
def test_any_key_may_be_missing(tmp_path: Path, key: str) -> None:
    run = write_run_folder(tmp_path, [Made(n=30, extra={key: None})])
    assert read(write_report(run)).scripts


def test_equal_runs_give_equal_pages(tmp_path: Path) -> None:
    pages = [
        write_report(write_run_folder(tmp_path / parent / "run", [Made(n=30)])).read_bytes()
        for parent in ("a", "b")
    ]
    assert pages[0] == pages[1]


def test_half_a_character_can_be_written(tmp_path: Path) -> None:
    one = {"name": "a\ud800", "retriever": "b"}
    content = json.dumps({"schema": 1, "collections": [one]})
    (tmp_path / "results.json").write_text(content)
    assert "a?" in "".join(read(write_report(tmp_path)).text)


def test_a_page_of_7500_queries_stays_small(tmp_path: Path) -> None:
    run = write_run_folder(tmp_path, [Made(n=100)])
    path = next(run.glob("*/per_query.parquet"))
    parquet.write_table(pyarrow.concat_tables([parquet.read_table(path)] * 75), path)
    page = write_report(run)
    assert json.loads(read(page).scripts[1])[0]["n"] == 7500
    assert page.stat().st_size - len(plotly_js()) < 4_000_000
    assert page.stat().st_size < 15_000_000


@pytest.mark.parametrize("package", ["plotly", "jinja2", "pyarrow"])
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    tmp_path: Path, package: str
) -> None:
    run = write_run_folder(tmp_path, [Made(n=30)])
    code = f"""
from pathlib import Path
from tests.hiding import hide
hide({package!r})
from rl_rewriter.benchmark.report.page import write_report
from rl_rewriter.errors import MissingExtraError
try:
    write_report(Path({str(run)!r}))
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[4]
    )
    assert done.stdout == f'{package} is not installed; run: pip install "rl-rewriter[report]"\n'
