"""Each "every", "all", "none" and "N of M" that a run's documents print, against the rows."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.column import Row, pairs_in
from app.cases.dimensions import scenario_of
from app.cases.scenario import Scenario
from app.columns.rows import Rows
from app.console.export_formats import export
from app.report.page import page
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.table import write_tables
from app.runs.reader import read_run
from app.runs.verify import read_intact
from tests.app.results.filled import MODEL
from tests.app.results.runs import record
from tests.golden.runs import CHECK, CPU, V80, Speed, make, manifest, measure
from tests.golden.screens import printed, text_of_page

_COLUMNS = {"precision": "precision", "threads": "threads", "clock": "clock", "batch": "batch_size",
            "sequence": "sequence_length", "options": "options"}  # fmt: skip
_WORD = r"[a-z_]+ [^\s,.]+"
_COMMON_SETTINGS = re.compile(rf"[Ee]very measured case: ({_WORD}(?:, {_WORD})*)")


def random_cases(draw: random.Random) -> tuple[Case, ...]:
    """Cases of one to three models, some of them without a sequence, on clocks of both kinds."""
    kinds: tuple[dict[str, int], ...] = (
        {},
        {"batch": 1},
        {"batch": 1, "sequence": 128},
        {"batch": 1, "past_sequence": 64},
    )
    models = [f"net{number}.onnx" for number in range(draw.randint(1, 3))]
    few_kinds = draw.sample(kinds, draw.randint(1, 2))
    axes_by_model = {model: draw.choice(few_kinds) for model in models}
    runtimes = draw.sample([*CPU, V80], draw.randint(1, 3))
    scenarios = draw.sample(("closed_loop", "paced:20us"), draw.randint(1, 2))
    threads = draw.sample((1, 2), draw.randint(1, 2))
    return tuple(
        Case(m, r, axes=axes_by_model[m], threads=count, scenario=Scenario.parse(word))
        for m in models
        for r in runtimes
        for word in scenarios
        for count in threads
    )


def random_run(path: Path, seed: int) -> Path:
    """A run of which some cases failed, were refused, gave wrong outputs or were not begun."""
    draw = random.Random(seed)
    cases = random_cases(draw)
    ends: tuple[Any, ...] = ("ok", "ok", "ok", "crashed", "unsupported", "unchecked", "later")
    fates = {case.case_id: draw.choice(ends) for case in cases}

    def fill(folder: RunFolder) -> None:
        for model, axes in {case.model: case.axes for case in cases}.items():
            sequence = "sequence" if "sequence" in axes else None
            batch = "batch" if "batch" in axes else None
            model_fields = replace(MODEL, suite="", axes=axes, sequence=sequence, batch=batch)
            folder.record(ModelExported(model, "fp32", model_fields))
        for case in cases:
            fate = fates[case.case_id]
            if fate in ("ok", "unchecked"):
                check = CHECK if fate == "ok" else None
                precision = draw.choice(("fp32", "fp32", "int8"))
                measure(folder, case, Speed(draw.uniform(5, 500), 0.05), 5, check=check,
                        precision="bf16" if case.runtime == V80 else precision)  # fmt: skip
            elif fate != "later":
                record(folder, case, 0, (), fate, reason="it did: leave it out")

    return make(path, cases, fill)


def texts_of(path: Path) -> Iterator[str]:
    run = read_run(path)
    for width in (80, 120):
        yield printed("--show", str(path), columns=width)
        yield printed("show", str(path), "--verbose", columns=width)
    export(run, ("markdown",))
    yield (path / "results.md").read_text("utf-8").replace("\\", "")
    yield text_of_page("".join(page([read_intact(path)])))


def is_true_of(word: str, row: Row) -> bool:
    name, _, value = word.partition(" ")
    if name == "scenario":
        return scenario_of(row).words == value
    if name in _COLUMNS:
        return str(row[_COLUMNS[name]]) == value
    return pairs_in(row["axes"]).get(name) == value


def wrong_sentences(text: str, rows: list[Row]) -> Iterator[str]:
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\n|\n(?=[^ \n]*:)", text)]
    timed_rows = [row for row in rows if row["iterations"]]
    for match in (m for paragraph in paragraphs for m in _COMMON_SETTINGS.finditer(paragraph)):
        for word in match[1].split(", "):
            if not all(is_true_of(word, row) for row in timed_rows):
                yield match[0]
    flat = " ".join(text.split())
    for count, total in re.findall(r"(\d+) of (\d+) cases measured", flat):
        if (int(count), int(total)) != (len(timed_rows), len(rows)):
            yield f"{count} of {total} measured"
    if "all outputs right" in flat and not all(row["output_ok"] for row in timed_rows):
        yield "all outputs right"
    for count, total in re.findall(r"warnings in (\d+) of (\d+) cases", flat):
        if (int(count), int(total)) != (sum(bool(r["warning_codes"]) for r in rows), len(rows)):
            yield f"warnings in {count} of {total}"
    for status in ("crashed", "unsupported"):
        for count in re.findall(rf"cases measured[^.]*?(\d+) {status}", flat):
            if int(count) != sum(row["status"] == status for row in rows):
                yield f"{count} {status}"


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_of_all_is_true_of_all(seed: int, tmp_path: Path) -> None:
    path = random_run(tmp_path / "run", seed)
    rows = Rows().of(read_run(path))
    assert [wrong for text in texts_of(path) for wrong in wrong_sentences(text, rows)] == []


def test_a_constant_size_is_named_and_one_that_a_graph_lacks_is_not(tmp_path: Path) -> None:
    step = (Case("step.onnx", "ort-cpu", axes={"past_sequence": 64}),)
    assert "past_sequence 64" in _common_line(tmp_path / "one", step)
    both = (*step, Case("dense.onnx", "ort-cpu"))
    assert "past_sequence 64" not in _common_line(tmp_path / "two", both)


def _common_line(path: Path, cases: tuple[Case, ...]) -> str:
    with RunFolder.create(path, manifest(path.name, cases)) as folder:
        folder.begin({})
        for case in cases:
            measure(folder, case, Speed(50.0))
        write_tables(folder, Rows().of(read_run(path)))
    return "".join(printed("--show", str(path), columns=120).partition("every")[1:])
