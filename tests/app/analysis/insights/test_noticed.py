"""What to look at in a run: said where it holds, not where it might, and the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.insights.insight import Fact, Insight, disturbance
from app.analysis.insights.rules import MAXIMUM, find_insights
from app.cases.case import Case
from app.cases.column import Row
from app.cases.scenario import Scenario
from app.cases.telemetry import Interference
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.analysis.comparison.drawn import EQUAL, drawn_row
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record
from tests.simulated.levels import TWO_LEVELS, with_stalls

Timed = tuple[Case, Sequence[Sequence[float]], dict[str, Any]]
ORT, OV = Case("mlp", "ort-cpu"), Case("mlp", "openvino-cpu")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run"


def steady(median_us: float, runs: int = 40) -> list[list[float]]:
    """Four rounds whose medians are within 1 % of each other."""
    return [
        [median_us * (1.0 + r / 400 + k / 1e5) for k in range(runs)] for r in (-1, 1, -0.5, 0.5)
    ]


def measured(path: Path, *timed_cases: Timed) -> Path:
    cases = [case for case, _, _ in timed_cases]
    with RunFolder.create(path, manifest_of(cases, 4)) as folder:
        folder.begin(ENVIRONMENT)
        for case, rounds, facts in timed_cases:
            for number, latencies in enumerate(rounds):
                record(folder, case, number, latencies, **{"precision": case.precision, **facts})
    return path


def by_kind(path: Path) -> Mapping[str, Insight]:
    return {insight.kind: insight for insight in find_insights(Rows().measured(read_run(path)))}


def test_rows_whose_pairs_of_rounds_disagree_are_only_not_told_apart(path: Path) -> None:
    def make_rounds(*levels: float) -> list[list[float]]:
        return [[level * (1.0 + k / 1e5) for k in range(40)] for level in levels]

    rows: tuple[Timed, ...] = (
        (ORT, make_rounds(47, 53, 48, 52), {}),
        (OV, make_rounds(53, 47, 52, 48.2), {}),
    )
    insights = by_kind(measured(path, *rows))
    assert list(insights) == ["not_told_apart"]
    insight = insights["not_told_apart"]
    assert insight.sentence.startswith("mlp: ort-cpu and openvino-cpu can't be distinguished")
    assert insight.case_ids == (ORT.case_id, OV.case_id)


def test_a_single_row_and_two_rounds_have_nothing_to_say(path: Path) -> None:
    assert not find_insights([])
    assert not by_kind(measured(path, (ORT, steady(50.0), {})))
    int8 = replace(ORT, precision="int8")
    rows: list[Timed] = [(ORT, steady(50.0)[:2], {}), (int8, steady(90.0)[:2], {})]
    assert not by_kind(measured(path.with_name("two"), *rows))


def test_two_levels_and_stalls_are_told_with_their_figures(path: Path) -> None:
    rng = np.random.default_rng(31)
    jumping = [TWO_LEVELS["1.36 times, even, 5 %"](rng, 4000).tolist() for _ in range(4)]
    plain = [25.0 * np.exp(0.05 * rng.standard_normal(4000)) for _ in range(4)]
    stall_rounds = [with_stalls(rng, latencies, 3_000.0, 10_000.0).tolist() for latencies in plain]
    many = [with_stalls(rng, latencies, 1_000.0, 8_000.0).tolist() for latencies in plain]
    torch = Case("mlp", "torch-cpu")
    insights = by_kind(
        measured(path, (ORT, jumping, {}), (OV, stall_rounds, {}), (torch, many, {}))
    )
    assert insights["bimodal"].sentence.startswith("mlp · ort-cpu: bimodal, 25.")
    assert " and 34." in insights["bimodal"].sentence
    assert (insights["bimodal"].view, insights["bimodal"].case_ids) == ("histogram", (ORT.case_id,))
    sentence = insights["stalls"].sentence
    assert sentence.startswith("2 cases (openvino-cpu, torch-cpu): stalls at even distances")
    assert "mlp · openvino-cpu: stalls of " in sentence
    assert "every 10.0 ms" in sentence
    assert (insights["stalls"].view, insights["stalls"].case_ids) == (
        "timeline",
        (OV.case_id, torch.case_id),
    )


@pytest.mark.parametrize(
    ("recorded", "disturbed"),
    [
        ({"involuntary_switches": 2, "steal_share": 0.001}, False),
        ({"involuntary_switches": 400}, True),
        ({"steal_share": 0.03}, True),
    ],
    ids=str,
)
def test_what_a_round_recorded_of_the_machine_is_not_the_models(
    path: Path, recorded: dict[str, Any], disturbed: bool
) -> None:
    rng = np.random.default_rng(5)
    jumping = [TWO_LEVELS["1.36 times, even, 5 %"](rng, 4000).tolist() for _ in range(4)]
    facts = {"interference": Interference(seconds=1.0, **recorded)}
    sentence = by_kind(measured(path, (ORT, jumping, facts)))["bimodal"].sentence
    assert ("may be the machine" in sentence) == disturbed


def test_outliers_with_a_recorded_cause_are_the_machines(path: Path) -> None:
    row: Row = {"outlier_causes": "switch 12, steal 3, unseen 10", "case_id": "a"}
    fact = Fact(ORT, row, 20.0, None)
    assert "switch" in disturbance(fact)
    assert not disturbance(replace(fact, row={"outlier_causes": "switch 3, unseen 10"}))
    assert not disturbance(replace(fact, row={"outlier_causes": "unseen 10"}))
    assert not disturbance(replace(fact, row={}))
    often = replace(fact, row={"involuntary_switches_per_s": 20.0})
    assert disturbance(often, per_s=10.0) and not disturbance(often, per_s=1000.0)


def test_a_tail_is_told_of_a_closed_loop_alone(path: Path) -> None:
    far = [[20.0] * 950 + [900.0] * 50] * 4
    insights = by_kind(measured(path, (ORT, far, {})))
    assert "the slowest 1 % take 45 times the median, 900 µs or more" in insights["tail"].sentence
    poisson_case = replace(ORT, scenario=Scenario.parse("poisson:100/s"))
    assert "tail" not in by_kind(measured(path.with_name("open"), (poisson_case, far, {})))


@pytest.mark.parametrize(
    ("other", "kind", "us", "said"),
    [
        ({"precision": "int8"}, "precision", 90.0, "mlp · ort-cpu · int8: 1.80 times as slow as"),
        ({"precision": "int8"}, "precision", 50.0, ""),
        ({"precision": "int8"}, "precision", 51.0, ""),
        ({"threads": 4}, "threads", 75.0, "1.50 times as slow as on 1"),
    ],
    ids=str,
)
def test_a_narrow_precision_that_is_slower_and_threads_that_cost_are_told(
    path: Path, other: dict[str, Any], kind: str, us: float, said: str
) -> None:
    case = replace(ORT, **other)
    insights = by_kind(measured(path, (ORT, steady(50.0), {}), (case, steady(us), {})))
    assert (kind in insights) == bool(said)
    if said:
        assert said in insights[kind].sentence
        assert insights[kind].case_ids == (case.case_id, ORT.case_id)


def test_batches_that_gain_nothing_are_told_from_the_first_on(path: Path) -> None:
    latency = {1: 10.0, 4: 20.0, 16: 80.0, 64: 318.0}
    cases = {size: replace(ORT, axes={"batch": size}) for size in latency}
    rows: list[Timed] = [(cases[size], steady(median), {}) for size, median in latency.items()]
    insight = by_kind(measured(path, *rows))["batch"]
    said = "mlp · ort-cpu · batch 4: gains nothing beyond batch 4: at most"
    assert insight.sentence.startswith(said)
    assert insight.view == "trends"
    assert set(insight.case_ids) == {case.case_id for case in cases.values()}
    gaining = [*rows[:2], (cases[16], steady(60.0), {})]
    assert "batch" not in by_kind(measured(path.with_name("gaining"), *gaining))


def test_an_option_that_changes_nothing_is_told_and_one_that_does_is_not(path: Path) -> None:
    def case(mode: str, arena: str) -> Case:
        return replace(ORT, options={"mode": mode, "arena": arena})

    rows: list[Timed] = [
        (
            case(mode, arena),
            steady(50.0 if mode == "all" else 70.0),
            {"options": {"mode": mode, "arena": arena}},
        )
        for mode in ("all", "off")
        for arena in ("on", "off")
    ]
    insights = by_kind(measured(path, *rows))
    assert "arena changes nothing, p50 is the same within" in insights["no_effect"].sentence
    assert len(insights["no_effect"].case_ids) == 4


def test_much_the_best_is_told_with_whom_it_beats(path: Path) -> None:
    insights = by_kind(measured(path, (ORT, steady(50.0), {}), (OV, steady(110.0), {})))
    insight = insights["best"]
    assert insight.sentence == "mlp · ort-cpu: 2.20 times as fast as the next, openvino-cpu"
    simulated = Case("mlp", "fpga:v80")
    other = measured(
        path.with_name("card"),
        (ORT, steady(50.0), {}),
        (simulated, steady(2.0), {"clock": "simulated"}),
    )
    assert "best" not in by_kind(other), "a simulated card beats nobody"
    times = {"ort-cpu": 50.0, "openvino-cpu": 60.0, "torch-cpu": 200.0}
    near: list[Timed] = [(Case("mlp", name), steady(us), {}) for name, us in times.items()]
    assert "best" not in by_kind(measured(path.with_name("near"), *near)), "one is near"


def test_five_sentences_at_most_and_settings_are_heard_of(path: Path) -> None:
    rng = np.random.default_rng(32)
    stall_latencies = with_stalls(rng, np.full(4000, 25.0), 2_000.0, 9_000.0)
    jumping = TWO_LEVELS["1.36 times, even, 5 %"](rng, 4000)
    slowing = np.linspace(40.0, 60.0, 4000) + 0.1 * rng.standard_normal(4000)
    tail = np.where(rng.random(4000) < 0.05, 5_000.0, 25.0 + 0.1 * rng.standard_normal(4000))
    rows: list[Timed] = [
        (replace(ORT, threads=number), [latencies.tolist()] * 4, {})
        for number, latencies in enumerate((stall_latencies, jumping, slowing, tail), start=1)
    ]
    rows += [(Case("cnn", name), steady(us), {}) for name, us in (("ort-cpu", 9.0), ("x", 20.0))]
    rows += [(Case("gru", name), steady(us), {}) for name, us in (("ort-cpu", 9.0), ("x", 9.0))]
    insights = find_insights(Rows().measured(read_run(measured(path, *rows))))
    kinds = [insight.kind for insight in insights]
    assert kinds[:3] == ["bimodal", "stalls", "tail"]
    assert len(kinds) == MAXIMUM
    assert {"threads", "best"} <= set(kinds)


@pytest.mark.parametrize("spread", [0.01, 0.03, 0.1])
def test_what_is_the_same_is_hardly_ever_said_to_differ(spread: float) -> None:
    """Twelve cases that are equal, in 300 runs: no more than one in fifty says anything of it."""
    rng = np.random.default_rng(51)
    false = 0
    for _ in range(300):
        insights = find_insights([drawn_row(case, 50.0, spread, rng) for case in EQUAL])
        false += bool({"precision", "threads", "best"} & {insight.kind for insight in insights})
    assert false <= 6


def test_a_gain_is_hardly_ever_said_to_be_none_and_what_a_precision_costs_is_found() -> None:
    """Sixteen times the batch for eight times the latency is twice the inputs."""
    rng = np.random.default_rng(52)
    cases = {size: Case("mlp", "ort-cpu", axes={"batch": size}) for size in (1, 16)}
    int8, count = replace(ORT, precision="int8"), 0
    for _ in range(200):
        rows = [drawn_row(cases[1], 10.0, 0.05, rng), drawn_row(cases[16], 80.0, 0.05, rng)]
        assert "batch" not in {insight.kind for insight in find_insights(rows)}
        rows = [drawn_row(ORT, 40.0, 0.02, rng), drawn_row(int8, 50.0, 0.02, rng)]
        count += "precision" in {insight.kind for insight in find_insights(rows)}
    assert count >= 180
