"""Each "every", "all", "none" and "N of M" that a run's documents print, against the rows."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row, number_of, pairs_in
from app.cases.dimensions import scenario_of
from app.cases.round import Check
from app.cases.scenario import Scenario
from app.present.console.export_formats import export
from app.present.report.page import page
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.runs.reader import read_run
from exporters.diagnostics import diagnostic
from tests.app.analysis.columns.filled import MODEL
from tests.app.run_folder.measured import CHECK, CPU, V80, Speed, make, measure
from tests.app.run_folder.runs import record
from tests.golden.screens import printed, text_of_page
from tests.seldom import seldom_but

_COLUMNS = {"precision": "precision", "threads": "threads", "clock": "clock", "batch": "batch_size",
            "sequence": "sequence_length", "options": "options"}  # fmt: skip
_WORD = r"[a-z_]+ [^\s,.]+"
_COMMON_SETTINGS = re.compile(rf"[Ee]very measured case: ({_WORD}(?:, {_WORD})*)")


CHECKS: dict[str, Check | None] = {
    "ok": CHECK,
    "unchecked": None,
    "disputed": replace(CHECK, disputed=True),
    "own": replace(CHECK, only_own=True),
    "silent": replace(CHECK, silent={"y": "same"}),
}
SILENT = (
    diagnostic("outputs_have_nan", outputs=("z",)),
    diagnostic("outputs_say_nothing", outputs=("y",), why="same"),
)


def random_cases(draw: random.Random) -> tuple[Case, ...]:
    """Cases of one to three models, some of them without a sequence, on clocks of both kinds."""
    kinds: tuple[dict[str, int], ...] = (
        {},
        {"batch": 1},
        {"batch": 1, "sequence": 128},
        {"batch": 1, "past_sequence": 64},
    )
    models = [f"net{number}.onnx" for number in range(draw.randint(1, 5))]
    few_kinds = draw.sample(kinds, draw.randint(1, 2))
    axes_by_model = {model: draw.choice(few_kinds) for model in models}
    runtimes = draw.sample([*CPU, V80], draw.randint(1, 3))
    scenarios = draw.sample(("closed_loop", "paced:20us", "poisson:2000/s"), draw.randint(1, 2))
    threads = draw.sample((1, 2), draw.randint(1, 2))
    return tuple(
        Case(m, r, axes=axes_by_model[m], threads=count, scenario=Scenario.parse(word))
        for m in models
        for r in runtimes
        for word in scenarios
        for count in threads
    )[:40]


def random_run(path: Path, seed: int) -> Path:
    """A run of which some cases failed, were refused, gave wrong outputs or were not begun; of
    some runs all are alike."""
    draw = random.Random(seed)
    cases = random_cases(draw)
    ends: tuple[Any, ...] = ("ok", *CHECKS, "crashed", "unsupported", "wrong_output", "later")
    if draw.random() < 0.25:
        ends = (draw.choice(ends),)
    fates = {case.case_id: draw.choice((*ends, *("ok",) * (len(ends) - 1))) for case in cases}
    rounds = draw.choice((1, 2, 5, 5, 5))
    is_steady = draw.random() < 0.5
    if is_steady:
        ends = ("ok",) * 20 + ends
        rounds = 5
    factors = {name: draw.choice((1.0, 1.003, 1.4, 3.0)) for name in (*CPU, V80)}

    def fill(folder: RunFolder) -> None:
        for model, axes in {case.model: case.axes for case in cases}.items():
            sequence = "sequence" if "sequence" in axes else None
            batch = "batch" if "batch" in axes else None
            model_fields = replace(MODEL, suite="", axes=axes, sequence=sequence, batch=batch)
            folder.record(ModelExported(model, "fp32", model_fields))
        for case in cases:
            fate = fates[case.case_id]
            if fate in CHECKS:
                precision = draw.choice(("fp32", "fp32", "fp32" if is_steady else "int8"))
                us = 40.0 * factors[case.runtime] if is_steady else draw.uniform(5, 500)
                speed = Speed(us, 0.003 if is_steady else draw.choice((0.01, 0.3)))
                measure(folder, case, speed, draw.choice((rounds,) * 9 + (1,)), check=CHECKS[fate],
                        warnings=SILENT if fate == "silent" else (),
                        precision="bf16" if case.runtime == V80 else precision)  # fmt: skip
            elif fate != "later":
                record(folder, case, 0, (), fate, reason="it did: leave it out")

    return make(path, cases, fill, rounds=rounds)


def texts_of(path: Path) -> Iterator[str]:
    run = read_run(path)
    for width in (80, 120):
        yield printed("show", str(path), columns=width)
        yield printed("show", str(path), "--verbose", columns=width)
    export(run, ("markdown",))
    yield (path / "results.md").read_text("utf-8").replace("\\", "")
    yield text_of_page("".join(page([(run, ())])))


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
    for count, total in re.findall(r"(\d+) of (\d+) cases? measured", flat):
        if (int(count), int(total)) != (len(timed_rows), len(rows)):
            yield f"{count} of {total} measured"
    silent = [
        row
        for row in rows
        if {"outputs_empty", "outputs_say_nothing"} & {*str(row["warning_codes"]).split(";")}
    ]
    doubted = [r for r in rows if r["output_disputed"] or r["only_own_reference"] or r in silent]
    if "all outputs right" in flat and not all(
        row["output_ok"] and row not in doubted for row in timed_rows
    ):
        yield "all outputs right"
    first_line = re.search(r"cases? measured, .{200}", flat)
    if first_line and silent and f"of {len(silent)} confirm nothing" not in first_line[0]:
        yield first_line[0]
    if "outputs not checked" in flat and any(row["output_ok"] is not None for row in rows):
        yield "outputs not checked"
    for count, total in re.findall(r"warnings in (\d+) of (\d+) cases?\b", flat):
        if (int(count), int(total)) != (sum(bool(r["warning_codes"]) for r in rows), len(rows)):
            yield f"warnings in {count} of {total}"
    sizes = {
        "crashed": sum(row["status"] == "crashed" for row in rows),
        "unsupported": sum(row["status"] == "unsupported" for row in rows),
        "not run": sum(row["status"] == "not_run" for row in rows),
        "with wrong outputs": sum(row["status"] == "wrong_output" for row in rows),
        "not checked": sum(row["output_ok"] is None for row in timed_rows),
        "checked by its own engine only": sum(r["only_own_reference"] is True for r in rows),
        "confirm nothing": len(silent),
    }
    for name, size in sizes.items():
        for count in re.findall(rf"cases? measured[^.:]*?(\d+) {name}", flat):
            if int(count) != size:
                yield f"{count} {name}"
    yield from wrong_rankings(text, rows)
    yield from re.findall(rf"(?<![\d.,])1 (?:{_NOUNS})\b", flat)


_NOUNS = "cases|rounds|runs|models|comparisons|groups|processes|samples|causes|machines"


def contests_of(rows: list[Row]) -> list[dict[str, float]]:
    """The medians by runtime of each set of two and more ok rows that differ in nothing else."""
    sets: dict[tuple[object, ...], dict[str, float]] = {}
    for row in rows:
        p50 = number_of(row["latency_p50_us"])
        if row["status"] == "ok" and p50:
            key = (row["model"], row["axes"], row["precision"], row["threads"], row["clock"],
                   scenario_of(row).words)  # fmt: skip
            sets.setdefault(key, {})[str(row["runtime"])] = p50
    return [medians for medians in sets.values() if len(medians) > 1]


def wrong_rankings(text: str, rows: list[Row]) -> Iterator[str]:
    """Who is the fastest in how many, and who is behind by how much."""
    contests = contests_of([row for row in rows if row["clock"] == "wall"])
    for line in points_in(text):
        total = re.search(r"\b(?:fastest|difference|undecided) in (?:\d+ of |all )(\d+)", line)
        if total and int(total[1]) != len(contests):
            yield line
        if total:
            parts = re.findall(r"(?:difference in|undecided in(?: all)?) (\d+)", line)
            wins = re.findall(r"([a-z-]+) (?:is fastest )?in (\d+)", line.partition(";")[0])
            wins = [(name, number) for name, number in wins if name in CPU]
            leads = re.findall(r"([a-z-]+) leads (\d+)", line)
            if sum(map(int, [*parts, *(number for _, number in wins)])) != len(contests):
                yield line
            for name in CPU:
                told = sum(int(number) for other, number in (*wins, *leads) if other == name)
                if told > sum(min(medians, key=lambda k: medians[k]) == name
                              for medians in contests):  # fmt: skip
                    yield f"{name} {told}: {line}"
        if line.startswith("slower than the fastest wherever compared"):
            for name in re.findall(r"([a-z-]+) \(", line):
                if any(min(medians, key=lambda k: medians[k]) == name for medians in contests):
                    yield line
        for count, undecided in re.findall(r"may decide (\d+) of (\d+)", line):
            if not int(count) <= int(undecided) <= len(contests_of(rows)):
                yield line


def points_in(text: str) -> list[str]:
    """Each point of a list in one line; of a page each line is one."""
    return [" ".join(part.split()).removeprefix("- ") for part in re.split(r"\n(?! )", text)]


@pytest.mark.parametrize("seed", seldom_but(tuple("023457"), range(20)))
def test_what_is_said_of_all_is_true_of_all(seed: int, tmp_path: Path) -> None:
    path = random_run(tmp_path / "run", seed)
    rows = Rows().of(read_run(path))
    assert [wrong for text in texts_of(path) for wrong in wrong_sentences(text, rows)] == []
