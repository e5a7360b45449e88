"""The report of two runs: a figure of ratios that are those of the verdicts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.case import Case
from app.columns.rows import Rows
from app.history.run_comparison import RunSide, compare_runs, side_of
from app.report.page import ratio_figure
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.history.pasts import night_at
from tests.app.run_folder.runs import manifest_of, record

FAST, SLOW = (Case("net", runtime) for runtime in ("ort-cpu", "openvino-cpu"))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Of the second run one case takes twice as long, the other as long as before."""
    paths = tmp_path / "before", tmp_path / "after"
    for path, factor in zip(paths, (1.0, 2.0), strict=True):
        with RunFolder.create(path, manifest_of((FAST, SLOW), rounds=5)) as folder:
            for number in range(5):
                spread = 1.0 + 0.001 * number
                record(folder, FAST, number, [10.0 * spread] * 400)
                record(folder, SLOW, number, [20.0 * spread * factor] * 400)
    return paths


def side(path: Path) -> RunSide:
    run = read_run(path)
    return side_of(run, Rows().measured(run))


def test_each_mark_is_a_ratio_with_the_interval_of_its_verdict(
    folders: tuple[Path, Path],
) -> None:
    comparison = compare_runs(side(folders[0]), side(folders[1]))
    figure = ratio_figure(comparison)
    assert figure is not None
    expected = [
        (place, sides.ratio, sides.verdict.interval)
        for place, case in enumerate(comparison.cases)
        for sides in case.percentiles.values()
    ]
    assert len(figure.marks) == len(expected)
    for mark, (place, ratio, interval) in zip(figure.marks, expected, strict=True):
        assert (mark.y, mark.x) == (place, ratio)
        if interval is not None:
            assert (mark.low, mark.high) == (interval.low, interval.high)
    twice = [mark.x for mark in figure.marks if "openvino" in figure.y.names[int(mark.y)]]
    assert twice == pytest.approx([2.0] * len(twice), rel=0.01)
    assert ratio_figure(replace(comparison, cases=())) is None


def test_the_comparison_is_the_first_thing_on_the_page(folders: tuple[Path, Path]) -> None:
    page = folders[0].with_name("page.html")
    assert main(["report", *map(str, folders), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.index("<h1>after against before</h1>") < text.index('id="run-0"')
    assert "<figcaption>after over before</figcaption>" in text


def test_the_page_judges_two_runs_by_the_history_as_the_command_does(tmp_path: Path) -> None:
    for number in range(6):
        night_at(tmp_path / "past" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    page = tmp_path / "page.html"

    def is_slower(*more: object) -> bool:
        line = ("report", first, second, "-o", page, *more)
        assert main([str(word) for word in line]) == 0
        (figure,) = re.findall(r"<figure.*?</figure>", page.read_text("utf-8"), re.S)[:1]
        return ", slower" in figure

    assert not is_slower()
    assert is_slower("--history", tmp_path / "past")
    for number in range(6):
        night_at(tmp_path / "a" / f"{number}", number)
    assert is_slower(), "the runs beside the first"
