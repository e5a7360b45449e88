"""What a judged pair is told besides its statistics: what stood in the way, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.judge import Sides, adjust_for_gpu_clock, judge_pairs
from app.analysis.comparison.measured_case import MeasuredCase, clock_resolution
from app.analysis.comparison.pairing import (
    NO_RUNS,
    NOT_VALID,
    Pair,
    RunVariations,
    ending_reason,
)
from app.cases.case import Case, identity_of
from app.cases.column import Row
from app.stats.core_state import TypicalClock
from app.stats.quantiles import Interval
from app.stats.verdict import (
    CLOCK_CHANGED,
    LOADED,
    NO_RUN_VARIATION,
    TOO_FEW_ROUNDS,
    TOO_FEW_RUNS,
    RunVariation,
    Verdict,
)
from tests.app.run_folder.runs import Measured, measured_run

FIRST, SECOND = (Case("mlp", name) for name in ("ort-cpu", "openvino-cpu"))
SLOWER = Verdict("slower", 1.5, Interval(1.4, 1.6))


def sides_of(
    path: Path, ratio: float = 1.0, runs: Sequence[Sequence[int]] = ((30,) * 4, (30,) * 4)
) -> list[MeasuredCase]:
    """Both measured; the second takes `ratio` times as long, in rounds of so many runs."""
    measured: list[Measured] = [
        (case, [[level * (1 + k / 1e4) for k in range(count)] for count in counts], {})
        for case, level, counts in zip((FIRST, SECOND), (100.0, 100.0 * ratio), runs, strict=True)
    ]
    return Rows().measured(measured_run(path, *measured))


def verdict_of(
    sides: Sequence[MeasuredCase],
    name: str = "p50",
    in_turn: bool = False,
    cores: int = 4,
    **both: Any,
) -> Verdict:
    """Judged with a small variation from run to run, with these cells in both rows."""
    first, second = (replace(side, row={**side.row, "host": "here", **both}) for side in sides)
    key = (identity_of(SECOND), name, str(second.row["clock"]), "here", "a processor")
    known = {key: RunVariation(0.001, 1000.0, "history")} if name == "p50" else {}
    variations = RunVariations(known, {"here": "a processor"}, {"here": cores})
    (case,) = judge_pairs([Pair("mlp", first, second)], 0.02, in_turn, [name], variations)
    return case.percentiles[name].verdict


def at(clock_mhz: float, cycles: float) -> TypicalClock:
    """Of four rounds."""
    p50_ns = cycles / clock_mhz
    by_round = tuple(p50_ns * (1.0 + k / 1e3) for k in range(4))
    return TypicalClock(clock_mhz, p50_ns, None, by_round)


@pytest.mark.parametrize(
    ("second_mhz", "more", "word"),
    [(2700.0, 1.0, "undecided"), (2700.0, 1.2, "slower"), (3300.0, 0.8, "faster")],
)
def test_runs_at_other_clocks_are_compared_in_cycles(
    tmp_path: Path, second_mhz: float, more: float, word: str
) -> None:
    first, second = (
        replace(side, row={**side.row, "host": "here"}, cpu_mhz=mhz, at_clock=at(mhz, cycles))
        for side, mhz, cycles in zip(
            sides_of(tmp_path, 1.5), (3000.0, second_mhz), (3e8, more * 3e8), strict=True
        )
    )
    variations = RunVariations(cpus={"here": "a processor"})
    (case,) = judge_pairs([Pair("mlp", first, second)], 0.02, False, ["p50"], variations)
    sides = case.percentiles["p50"]
    assert [sides.first, sides.second] == pytest.approx([100.0, 100.0 * more])
    assert (sides.clock_mhz, sides.verdict.word) == (3000.0, word)
    assert sides.verdict.variation is not None and sides.verdict.variation.source == "stated"
    elsewhere = RunVariations(cpus={"there": "a processor"})
    (case,) = judge_pairs([Pair("mlp", first, second)], 0.02, False, ["p50"], elsewhere)
    assert case.percentiles["p50"].clock_mhz is None and case.percentiles["p50"].second > 140.0


@pytest.mark.parametrize(
    ("ratio", "clocks", "reason"),
    [
        (1.5, (None, 2000.0), ""),
        (1.5, (3000.0, None), ""),
        (1.5, (3000.0, 2000.0), CLOCK_CHANGED),
        (1.5, (3000.0, 1980.0), CLOCK_CHANGED),
        (1.5, (3000.0, 1950.0), ""),  # 1.5 / 1.54: beyond the band of 2 %
        (1.5, (3000.0, 2030.0), CLOCK_CHANGED),
        (1.5, (3000.0, 2050.0), ""),
        (1.5, (2000.0, 3000.0), ""),
        (1.01, (1000.0, 1000.0), ""),  # the times are the same: the clock made no change
    ],
)
def test_what_only_the_clock_changed_is_undecided(
    tmp_path: Path, ratio: float, clocks: tuple[float | None, float | None], reason: str
) -> None:
    sides = sides_of(tmp_path / "run", ratio)
    sides = [replace(side, cpu_mhz=mhz) for side, mhz in zip(sides, clocks, strict=True)]
    verdict = verdict_of(sides)
    assert verdict.reason == reason
    assert (verdict.word == "undecided") == bool(reason)
    assert ("-33%" in verdict.detail) == (clocks == (3000.0, 2000.0))
    assert verdict_of(sides, in_turn=True).word == ("slower" if ratio > 1.02 else "same")


@pytest.mark.parametrize(("ratio", "word"), [(1.0, "same"), (1.03, "slower")])
def test_runs_on_a_simulated_clock_differ_by_their_rounds_alone(
    tmp_path: Path, ratio: float, word: str
) -> None:
    """Also in a figure of which no variation is known."""
    assert verdict_of(sides_of(tmp_path / "run", ratio), "p90", clock="simulated").word == word


@pytest.mark.parametrize(
    ("ratio", "loads", "cores", "clock", "word"),
    [
        (1.5, (9.0, 9.0), 4, "wall", "undecided"),
        (0.5, (9.0, 9.0), 4, "wall", "undecided"),
        (1.0, (9.0, 9.0), 4, "wall", "same"),
        (1.5, (8.0, 8.0), 4, "wall", "slower"),  # twice the cores are no more than that
        (1.5, (8.1, 4.0), 4, "wall", "undecided"),
        (1.5, (0.0, 5.0), 4, "wall", "slower"),
        (1.5, (0.0, 5.1), 4, "wall", "undecided"),
        (1.5, (5.1, 0.0), 4, "wall", "undecided"),
        (1.5, (None, 9.0), 4, "wall", "slower"),
        (1.5, (9.0, None), 4, "wall", "slower"),
        (1.5, (9.0, 9.0), 0, "wall", "slower"),
        (1.5, (9.0, 9.0), 4, "simulated", "slower"),
    ],
)
def test_a_load_stands_in_the_way_of_what_two_runs_differ_by(
    tmp_path: Path,
    ratio: float,
    loads: tuple[float | None, float | None],
    cores: int,
    clock: str,
    word: str,
) -> None:
    sides = [
        replace(side, row={**side.row, "load_1min": load})
        for side, load in zip(sides_of(tmp_path / "run", ratio), loads, strict=True)
    ]
    verdict = verdict_of(sides, cores=cores, clock=clock)
    assert verdict.word == word
    assert (verdict.reason == LOADED) == (word == "undecided")
    if ratio == 1.5:
        assert verdict_of(sides, in_turn=True, cores=cores, clock=clock).word == "slower"


@pytest.mark.parametrize(
    ("uuids", "clocks", "is_changed"),
    [
        (("GPU-a", "GPU-a"), (1000.0, 1020.0), False),  # a step of the clock is no change
        (("GPU-a", "GPU-a"), (1000.0, 1021.0), True),
        (("GPU-a", "GPU-a"), (1021.0, 1000.0), True),
        (("GPU-a", "GPU-b"), (1000.0, 2000.0), False),
        ((None, None), (1000.0, 2000.0), False),
        (("GPU-a", "GPU-a"), (1000.0, None), False),
        (("GPU-a", "GPU-a"), (None, None), False),
    ],
)
def test_verdicts_of_one_gpu_at_two_clocks_are_undecided(
    uuids: tuple[str | None, str | None],
    clocks: tuple[float | None, float | None],
    is_changed: bool,
) -> None:
    first, second = (
        MeasuredCase(FIRST, {"gpu_uuid": uuid, "gpu_clock_mhz": clock}, None)
        for uuid, clock in zip(uuids, clocks, strict=True)
    )
    verdict = adjust_for_gpu_clock(Pair("mlp", first, second), SLOWER)
    changed = replace(SLOWER, word="undecided", reason=CLOCK_CHANGED, detail=verdict.detail)
    assert verdict == (changed if is_changed else SLOWER)


@pytest.mark.parametrize(
    ("runs", "name", "in_turn", "reason"),
    [
        (((1,) * 3, (1,) * 3), "p50", True, TOO_FEW_RUNS),
        (((1,) * 3, (1,) * 3), "p50", False, TOO_FEW_RUNS),
        (((30,) * 3, (1,) * 3), "p50", False, TOO_FEW_RUNS),
        (((30,) * 2, (30,) * 3), "p50", True, TOO_FEW_ROUNDS),
        (((300,) * 3, (300,) * 2), "p99", False, TOO_FEW_ROUNDS),
        (((300,) * 3, (300,) * 3), "p99", True, ""),
        (((300,) * 3, (300,) * 3), "p99", False, NO_RUN_VARIATION),
        (((300,) * 3, (30,) * 3), "p90", False, NO_RUN_VARIATION),
    ],
)
def test_why_enough_rounds_have_no_interval(
    tmp_path: Path, runs: Sequence[Sequence[int]], name: str, in_turn: bool, reason: str
) -> None:
    sides = sides_of(tmp_path / "run", 1.0, runs)
    verdict = verdict_of(sides, name, in_turn)
    assert (verdict.reason, verdict.interval is None) == (reason, bool(reason))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a 0x1, b 0x2", "a 0x1, b 0x2", ()),
        ("a 0x1, b 0x2", "a 0x1, b 0x3", (("b", "0x2", "0x3"),)),
        ("a 0x1, b 0x2", "a 0x9", (("a", "0x1", "0x9"),)),
        ("a 0x1", "a 0x1, b 0x2", ()),
        ("a 0x1", None, ()),
        (None, "a 0x1", ()),
        ("a 0x1", "a 0x2 given", (("inputs", "a 0x1", "a 0x2 given"),)),
        ("packaged", "a 0x2", (("inputs", "packaged", "a 0x2"),)),
    ],
)
def test_inputs_that_were_fed_otherwise_are_named(
    tmp_path: Path, first: str | None, second: str | None, expected: tuple[tuple[str, ...], ...]
) -> None:
    sides = [
        replace(side, row={**side.row, "inputs_drawn": text})
        for side, text in zip(sides_of(tmp_path / "run"), (first, second), strict=True)
    ]
    (case,) = judge_pairs([Pair("mlp", *sides)], 0.02, True, ["p50"])
    assert case.fed_otherwise == expected


def test_rounds_that_alternated_count_where_both_have_them(tmp_path: Path) -> None:
    first, second = sides_of(tmp_path / "run", runs=((300,) * 3, (300,) * 3))
    sides = [first, replace(second, rounds=(3, 4, 5))]
    assert verdict_of(sides, "p50", in_turn=True).reason == TOO_FEW_ROUNDS
    assert verdict_of(sides, "p99", in_turn=False).reason == NO_RUN_VARIATION


def test_a_percentile_of_one_side_alone_is_missing(tmp_path: Path) -> None:
    sides = sides_of(tmp_path / "run", runs=((300,) * 3, (30,) * 3))
    for pair in (Pair("mlp", *sides), Pair("mlp", *reversed(sides))):
        (case,) = judge_pairs([pair], 0.02, True, ["p50", "p99", "p999"])
        assert (set(case.percentiles), case.missing) == ({"p50"}, ("p99",))


@pytest.mark.parametrize(("shared", "places"), [(2, [0, 1, 2, 3, 4]), (3, [0, 1, 2])])
def test_rounds_of_shared_turns_are_judged_alone_where_they_are_enough(
    tmp_path: Path, shared: int, places: list[int]
) -> None:
    """The last round of the second has no turns: it was measured by itself. Turns with a ratio
    of their own give it to p50."""
    first, second = sides_of(tmp_path / "run", 1.0, ((30,) * 5, (30,) * 5))
    sets = [("a", "a" if n < shared else "b") for n in range(5)]
    first = replace(first, turns={n: (one, (1.0,) * 9) for n, (one, _) in enumerate(sets)})
    second = replace(
        second, turns={n: (other, (2.0,) * 9) for n, (_, other) in enumerate(sets[:4])}
    )
    for name, ratio in (("mean", 1.0), ("p50", 2.0 if shared == 3 else 1.0)):
        pair = Pair("mlp", first, second)
        rounds, apart = pair.rounds(name), pair.rounds("p50", in_turn=False)
        assert rounds is not None and apart is not None and not apart.in_turn
        figures = first.by_round(name)
        assert rounds.first == pytest.approx([figures[place] for place in places])
        assert rounds.second == pytest.approx([ratio * figure for figure in rounds.first])


def test_a_verdict_is_a_word_with_its_code_and_reason() -> None:
    texts = [
        Sides(2.0, 3.0, verdict).verdict_text
        for verdict in (SLOWER, replace(SLOWER, detail="why"), replace(SLOWER, reason="code"))
    ]
    assert texts[0] == texts[2] == "slower" and texts[1] == "slower: why"
    both = Sides(2.0, 3.0, replace(SLOWER, detail="why", reason="code"))
    assert (both.verdict_text, both.ratio) == ("slower (code): why", 1.5)


def _with_tick(side: MeasuredCase, tick: float) -> MeasuredCase:
    """The case by a clock of this tick, in the unit of its figures."""
    assert side.summary is not None
    figures = {name: replace(one, tick=tick) for name, one in side.summary.figures.items()}
    return replace(side, summary=replace(side.summary, figures=figures))


def test_what_has_no_verdict_has_a_code_and_no_ticks(tmp_path: Path) -> None:
    first, second = sides_of(tmp_path / "run")
    empty = replace(second, summary=None)
    coarse, other = (_with_tick(side, 1.0) for side in (first, second))
    assert clock_resolution(coarse, other, "p50") > clock_resolution(first, second, "p50")
    assert clock_resolution(first, empty, "p50") == clock_resolution(empty, first, "p50") == 0.0
    codes = {("ok", False): NOT_VALID, ("ok", True): NO_RUNS, ("crashed", None): "crashed"}
    for (status, valid), code in codes.items():
        row: Row = {"status": status, "valid": valid, "reason": None}
        assert ending_reason(replace(empty, row=row))[0] == code
