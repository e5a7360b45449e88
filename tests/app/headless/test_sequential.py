"""Sequential comparisons and gates that must be able to find a slowdown, in real runs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.runs.reader import read_run
from tests.app.headless.batch import FAKE, rows, run
from tests.app.headless.faulty_runs import FAST_US, SLOW_US, made, plan_of

GRID = (*FAKE, "--preset", "glance", "--spread", "0s")


def options_of(first_us: float, second_us: float) -> tuple[str, ...]:
    """A case of each latency, the first the baseline, whose medians are judged."""
    return (
        *("--option", f"fake.latency_us={first_us:g},{second_us:g}"),
        *("--baseline", f"fake.latency_us={first_us:g}", "--metrics", "p50"),
    )


def test_a_run_ends_when_its_verdicts_are_decided_and_goes_on_where_they_are_not(
    work: Path,
) -> None:
    """One case is ten times as slow as the baseline; the other is the baseline's own threshold
    slower, which no number of rounds decides."""
    code, _, errors = run(
        *("run", "add.onnx", *GRID, "--option", "fake.latency_us=1000,1020,10000"),
        *("--baseline", "fake.latency_us=1000", "--metrics", "p50"),
        *("--sequential", "--rounds", "4", "--fail-on", "slower", "--out", "run"),
    )
    counts = {row["options"]: int(row["rounds"]) for row in rows(Path("run"))}
    ratios = {row["options"]: row["baseline_p50_verdict"] for row in rows(Path("run"))}
    slowest, similar = (next(o for o in counts if f"={us}" in o) for us in ("10000", "1020"))
    assert (code, ratios[slowest], ratios[similar]) == (3, "slower", "undecided"), errors
    assert (counts[slowest], counts[similar]) == (3, 4)
    assert run("verify", "run")[0] == 0


@pytest.mark.rare
def test_a_run_that_was_cut_short_goes_on_to_its_next_look(work: Path) -> None:
    graph, plan_values = work / "add.onnx", {"sequential": True, "rounds": 6, "judge": ["p50"]}
    plan = plan_of(graph, (1000.0, 1020.0), baseline="fake.latency_us=1000", **plan_values)
    code, _, errors = run("run", str(graph), *GRID, *options_of(1000, 1020), "--rounds", "6",
                          "--sequential", "--budget", "1s", "--out", "run")  # fmt: skip
    first = sum(map(len, read_run(Path("run")).rounds.values()))
    assert first < 2 * plan.lengths.rounds, errors
    code, _, errors = run("resume", "run", "--budget", "5m")
    assert code == 0, errors
    assert {len(rounds) for rounds in read_run(Path("run")).rounds.values()} == {6}


def gate_of(*command: str) -> tuple[int, list[str], set[str | None]]:
    """The exit code, the reasons in the JSON, and the types of the errors in the JUnit file."""
    code, _, errors = run(*command, "--json", "v.json", "--junit", "v.xml")
    gate = json.loads(Path("v.json").read_text("utf-8"))["gate"]
    assert gate["exit_code"] == code, errors
    suite = ElementTree.parse("v.xml").getroot()
    types = {element.get("type") for element in suite.findall("testcase/error")}
    return code, [reason["reason"] for reason in gate["reasons"]], types


@pytest.mark.parametrize(("detect", "code", "figures"), [("40%", 0, []), ("3%", 1, ["p50"])])
def test_a_gate_fails_where_it_could_not_find_the_slowdown_that_it_must(
    work: Path, detect: str, code: int, figures: list[str]
) -> None:
    """Two runs of the same code: the stated variation of 5 % hides a slowdown of 3 %."""
    plan = plan_of(work / "add.onnx", (SLOW_US, FAST_US), judge=["p50"])
    for name in ("old", "new"):
        made(work / name, plan)
    compare = ("compare", "old", "new", "--metrics", "p50", "--detect", detect)
    assert run(*compare)[0] == 0, "without a gate nothing fails"
    reasons = ["detection_limit"] * 2 * len(figures)
    assert gate_of(*compare, "--fail-on", "slower") == (code, reasons, set(reasons))


@pytest.mark.rare
def test_rounds_are_added_until_a_gate_can_find_its_slowdown(work: Path) -> None:
    """Of a change at the threshold, which is never decided: the gate fails only where all rounds
    that there may be were not enough."""
    code, reasons, _ = gate_of(
        *("run", "add.onnx", *GRID, *options_of(2000, 2040), "--detect", "50%"),
        *("--rounds", "6", "--fail-on", "slower", "--out", "run"),
    )
    (count,) = {len(rounds) for rounds in read_run(Path("run")).rounds.values()}
    assert count in (3, 4, 6)
    assert (code, reasons) in [(0, []), (1, ["detection_limit"])]
    assert code == 0 or count == 6


@pytest.mark.parametrize(
    "settings",
    [
        ("--detect", "1%", "--baseline", "fake"),
        ("--detect", "5%"),
        ("--sequential",),
        ("--sequential", "--baseline", "fake", "--rounds", "2"),
        ("--sequential", "--baseline", "fake", "--ci-width", "p50=1%"),
    ],
)
def test_what_could_never_be_decided_is_refused_before_anything_is_measured(
    work: Path, settings: tuple[str, ...]
) -> None:
    code, _, errors = run("run", "add.onnx", *FAKE, *settings, "--out", "run")
    assert code == 2 and errors
    assert not Path("run").exists()
