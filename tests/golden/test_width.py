"""What commands print fits the terminal, the end of a run one screen; figures are typed values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from app.cases.case import Case
from app.cases.status import Status
from app.present.console.answer.document import SCREEN_LINES
from app.run_folder.folder import RunFolder
from exporters.diagnostics import diagnostic
from tests.app.run_folder.measured import CPU, V80, Speed, make, measure
from tests.app.run_folder.runs import record
from tests.golden.folders import NAMES, unpack
from tests.golden.screens import printed, stored

WIDTHS = (80, 120)
ENDS = tuple(f"-{width}.txt" for width in WIDTHS)
PROGRAM = "/opt/graphlap/bin/graphlap"
MODELS = 20
ENDINGS: tuple[tuple[Status, str], ...] = (
    ("crashed", "signal SIGSEGV"),
    ("timeout", "took too long"),
    ("out_of_memory", "12 GiB were requested"),
    ("unsupported", "an operator"),
    ("compile_failed", "no kernel"),
    ("crashed", "signal SIGILL"),
    ("compile_failed", "no device"),
    ("timeout", "never answered"),
    ("unsupported", "a type"),
)
FAILURES: Mapping[int, tuple[Status, str]] = {
    place: (status, f"{reason}: {'a long explanation of the engine ' * 9}{place}")
    for place, (status, reason) in enumerate(ENDINGS)
}
WARNINGS = (
    diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2),
    diagnostic("cpu_governor", governor="powersave"),
    diagnostic("memory_not_locked", error="Cannot allocate memory"),
    diagnostic("outputs_not_checked"),
    diagnostic("no_steady_state", warmup_s=2.0),
)


def too_wide(text: str, width: int) -> list[str]:
    """Lines wider than the terminal that are no command and no single word, such as a path."""
    return [
        line
        for line in text.splitlines()
        if cell_len(line) > width and not line.startswith(f"  {PROGRAM}") and " " in line.strip()
    ]


def test_no_line_of_an_expected_text_is_wider_than_the_terminal() -> None:
    """Of the ends of runs and of histories: `test_golden` compares what is printed with these."""
    texts = {path: text for path, text in stored().items() if path.endswith(ENDS)}
    assert {path.partition("/")[0] for path in texts} == {*NAMES} - {"study"}
    for path, text in texts.items():
        assert too_wide(text, int(path.rpartition("-")[2].removesuffix(".txt"))) == [], path


@pytest.mark.parametrize("name", [name for name in NAMES if name != "history"])
def test_no_line_of_a_whole_answer_is_wider_than_the_terminal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = unpack(name, Path(name))
    commands: list[tuple[str, ...]] = [("show", str(path), "--verbose")]
    if name == "compared":
        commands = [("compare", str(path.with_name("before")), str(path))]
    if name == "study":  # whose end of a run is not among the expected texts
        commands.append(("show", str(path)))
    for command in commands:
        for width in WIDTHS:
            assert too_wide(printed(*command, columns=width), width) == [], command


@pytest.mark.parametrize("command", ["models", "runtimes"])
def test_no_line_about_this_machine_is_wider_than_the_terminal(command: str) -> None:
    assert too_wide(printed(command, columns=80), 80) == []


@pytest.fixture
def troubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eighty cases of twenty models: many causes with long reasons, warnings of many kinds."""
    monkeypatch.chdir(tmp_path)
    cases = [Case(f"network_{n:02}", spec) for n in range(MODELS) for spec in (*CPU, V80)]

    def fill(folder: RunFolder) -> None:
        for place, case in enumerate(cases):
            if place % 9 == 0 and place // 9 in FAILURES:
                status, reason = FAILURES[place // 9]
                record(folder, case, 0, (), status, reason=reason)
            else:
                speed = Speed(3.0 * 1.4 ** (place // 4) * (1 + place % 4), 0.2, 0.03)
                measure(folder, case, speed, 3, warnings=WARNINGS if place % 2 else ())

    return make(Path("troubled"), cases, fill, rounds=3)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_end_of_a_run_of_80_cases_fits_one_screen(troubled: Path, width: int) -> None:
    text = printed("show", str(troubled), columns=width)
    assert too_wide(text, width) == []
    assert len(text.splitlines()) <= SCREEN_LINES == 40
    assert all(f"network_{n:02}" in text for n in range(MODELS))
    assert " more causes of missing figures" in text
    whole = printed("show", str(troubled), "--verbose", columns=width)
    causes = sum("a long explanation" in line for line in whole.splitlines())
    assert causes >= len(FAILURES), "the full form has every cause"


def test_a_document_for_programs_is_not_shortened(troubled: Path) -> None:
    text = printed("show", str(troubled), "-f", "json", columns=80)
    assert text.count('"type": "note"') >= len(FAILURES)


FIGURE = re.compile(r"[<>+-]?\d[\d.,]*k?( ?(%|ns|µs|ms|s|/s|B|kB|MB|GB|x)| to .*| \(.*)?")
"""A text that is a figure, with a unit or an interval."""
NAME_COLUMNS = ("step", "threads", "largest batch", "tried", "version")
"""Columns of names, some of which are digits."""
WITH_TABLES = [name for name in NAMES if name not in ("compared", "history")]


def tables(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] == "table":
            yield block
        yield from tables(block.get("blocks", []))


def untyped_cells(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Cells that show a figure and have neither its value nor its interval."""
    for row in table["rows"]:
        for key, cell in row.items():
            text = cell if isinstance(cell, str) else (cell or {}).get("text", "")
            has_value = isinstance(cell, dict) and (cell["value"] is not None or "low" in cell)
            if key not in NAME_COLUMNS and FIGURE.fullmatch(text) and not has_value:
                yield key, cell


@pytest.mark.parametrize("name", WITH_TABLES)
def test_every_figure_of_a_table_has_a_value(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(unpack(name, Path(name)))
    for form in ((), ("--verbose",), ("--time",)):
        document = json.loads(printed("show", path, *form, "-f", "json", columns=80))
        for table in tables(document["blocks"]):
            assert list(untyped_cells(table)) == [], table["columns"]
