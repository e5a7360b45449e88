"""Names that would do harm leave a real run by every way there is as text, and as nothing else."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("markdown_it")
pytest.importorskip("pyarrow")

from app.analysis.columns.tables import read_rows
from app.formatting.text import printable, storable
from runtimes.fpga.__main__ import main as explain
from tests.app.cli.headless.batch import run as batch
from tests.app.hostile import (
    AXIS,
    OF_FILES,
    Seen,
    formulas,
    opened_by_markdown,
    save_hostile,
    steering,
)
from tests.app.present.report.pages import CHROMIUM, answer_in
from tests.parallel import once

pytestmark = pytest.mark.usefixtures("brief")
GLANCE = ("--preset", "glance", "--rounds", "1", "--batch", "1")


@pytest.fixture(scope="module")
def folder(brief: None, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is made once for all processes."""
    place = cache.parent / "hostile"
    with once(place) as is_new:
        if is_new:
            measure(place)
    return Path(shutil.copytree(place, tmp_path_factory.mktemp("hostile") / "runs"))


def measure(place: Path) -> None:
    """A model of each name and runs: of all names, twice, where a round costs least, and of one
    model on engines that tell of its nodes."""
    (place / "nets").mkdir()
    for name in OF_FILES:
        save_hostile(place / "nets" / f"{name}.onnx")
    models, few = (str(place / "nets" / f"{name}.onnx") for name in ("*", "*onerror*"))
    texts = {}
    for name, flags in (
        ("names", ("--models", models, "--runtimes", "fake")),
        ("again", ("--models", models, "--runtimes", "fake")),
        ("graphs", ("--models", few, "--runtimes", "ort-cpu,fpga:v80", "--op-times")),
    ):
        code, out, errors = batch("--headless", *flags, *GLANCE, "--out", str(place / name))
        assert code in (0, 1), errors
        texts[name] = out + errors
    (place / "told.json").write_text(json.dumps(texts), "utf-8")


@pytest.fixture
def told(folder: Path) -> dict[str, str]:
    """What a terminal was told of the runs."""
    texts: dict[str, str] = json.loads((folder / "told.json").read_text("utf-8"))
    return texts


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return folder / "names"


@pytest.fixture(scope="module")
def graphs(folder: Path) -> Path:
    return folder / "graphs"


def asked(*arguments: str) -> str:
    code, out, errors = batch(*arguments)
    assert code in (0, 1), errors
    return out + errors


def test_the_rows_are_there_and_have_the_names(run: Path) -> None:
    names = {Path(str(row["model"])).stem for row in read_rows(run / "results.full.csv").values()}
    assert names == {storable(name) for name in OF_FILES}


def test_nothing_steers_a_terminal(told: dict[str, str], run: Path, graphs: Path) -> None:
    for text in (
        *told.values(),
        asked("compare", str(run), str(run.with_name("again"))),
        asked("history", str(run.parent)),
        asked("verify", str(run)),
        asked("export", "-f", "json", str(run)),
    ):
        assert not steering(text)
    code, _, errors = batch("--headless", "--models", f"{OF_FILES[4]}.onnx", "--runtimes", "fake")
    assert code == 2
    assert not steering(errors)


def test_no_csv_has_a_formula(run: Path, graphs: Path, folder: Path) -> None:
    asked("export", "-f", "csv", str(run))
    asked("history", str(folder), "--csv", str(folder / "history.csv"))
    files = [*run.glob("*.csv"), folder / "history.csv", *(graphs / "operators").glob("*.csv")]
    assert len(files) == 6, "results.full.csv too"
    for path in files:
        assert not formulas(path.read_bytes()), path


def test_json_and_parquet_have_the_names_themselves(run: Path) -> None:
    import pandas as pd

    asked("export", "-f", "json,parquet,trace", str(run))
    rows = json.loads((run / "results.json").read_text("utf-8"))["rows"]
    assert {Path(row["model"]).stem for row in rows} == set(OF_FILES)
    frame = pd.read_parquet(run / "results.parquet")
    assert {Path(name).stem for name in frame["model"]} == {storable(name) for name in OF_FILES}
    for path in (run / "trace").iterdir():
        trace = json.loads(gzip.decompress(path.read_bytes()))
        assert trace["traceEvents"][0]["args"]["name"]


def test_markdown_is_text_and_its_tables_are_whole(run: Path, graphs: Path) -> None:
    for path in (run, graphs):
        asked("export", "-f", "markdown", str(path))
    pages = [(path / "results.md").read_text("utf-8") for path in (run, graphs)]
    pages.append(asked("compare", str(run), str(run.with_name("again")), "-f", "markdown"))
    for text in pages:
        # The labels of our own notes are in bold type.
        text_only = re.sub(r"^- \*\*(.*)\*\*: ", r"- \1: ", text, flags=re.MULTILINE)
        assert list(opened_by_markdown(text_only)) == []
        lines = [re.sub(r"\\.", "", line) for line in text_only.splitlines()]
        groups = groupby(lines, lambda line: line[:2] == "| ")
        tables = [[*rows] for is_table, rows in groups if is_table]
        assert tables
        assert all(len({row.count("|") for row in rows}) == 1 for rows in tables)
        assert not steering(text_only)
        assert not re.search(r"(?<!\\)(https?:/|www\.|@)", text_only), "of which GitHub makes links"


def test_xml_is_read_by_a_parser(run: Path, folder: Path) -> None:
    asked("compare", str(run), str(run.with_name("again")), "--junit", str(folder / "junit.xml"))
    asked("history", str(folder), "--plot", str(folder / "history.svg"))
    net = next((folder / "nets").glob("*onerror*"))
    card = ["explain", str(net), "--axis", f"{AXIS}=1"]
    output = io.StringIO()
    with redirect_stdout(output):
        assert explain(card) == 0
    assert not steering(output.getvalue())
    for name in ("junit.xml", "history.svg"):
        ElementTree.parse(folder / name)


@pytest.fixture(scope="module")
def report(run: Path, graphs: Path) -> Path:
    path = run.parent / "report.html"
    asked("report", str(run), str(graphs), "-o", str(path))
    return path


TAGS = (
    *("html", "head", "meta", "title", "style", "body", "main", "section", "script", "details"),
    *("h1", "h2", "h3", "p", "ul", "li", "div", "span", "pre", "code", "summary"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("svg", "g", "line", "text", "circle", "path", "polyline", "rect"),
)
ATTRIBUTES = (
    *("lang", "charset", "name", "content", "class", "id", "scope", "role", "aria-label"),
    *("data-case", "data-cases", "data-label", "data-value", "tabindex", "http-equiv"),
    *("viewbox", "width", "height", "font-size", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r"),
    *("d", "points", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray"),
    *("text-anchor", "paint-order"),
)


def test_a_page_has_no_tags_but_its_own(report: Path) -> None:
    hostile = Seen(report.read_text("utf-8"))
    assert hostile.tags <= set(TAGS)
    assert hostile.attributes <= set(ATTRIBUTES)
    assert not steering(hostile.text)
    for name in OF_FILES:
        assert printable(name) in hostile.text
    assert "strange=1" in hostile.text
    assert len(hostile.scripts) == 1


LOOK = """
addEventListener("load", () => setTimeout(() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  setTimeout(() => {
    const answer = document.createElement("pre");
    answer.id = "answer";
    answer.textContent = JSON.stringify({ ran: typeof strange,
      links: document.querySelectorAll("main a").length,
      strange: document.querySelectorAll("main img, main b").length,
      drawn: document.querySelectorAll("main .wide svg").length,
      ticks: [...document.querySelectorAll(".wide svg text")].map((one) => one.textContent) });
    document.body.append(answer);
  }, 1500);
}, 500));
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt install chromium")
def test_in_a_browser_nothing_of_a_name_runs_and_figures_have_it_as_text(report: Path) -> None:
    answer = answer_in(report, LOOK)
    assert (answer["ran"], answer["links"], answer["strange"]) == ("undefined", 0, 0)
    assert answer["drawn"]
    ticks = " ".join(answer["ticks"])
    assert "<img src=x onerror=strange=1>" in ticks
    assert "2026-11-22" in ticks, "a name, and no date"
