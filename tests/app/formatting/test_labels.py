"""Labels, numbers with units, foreign text made printable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.scenario import Scenario
from app.cases.user_files import UserFiles
from app.formatting import text
from app.formatting.case_labels import CaseSet, case_label, differences, labels, model_labels

MLP = Case("mlp", "ort-cpu", axes={"batch": 1})
PACED = replace(MLP, scenario=Scenario("paced", 20.0), wait_policy="sleep")


def test_a_line_of_a_log_tells_all_that_is_not_usual() -> None:
    assert case_label(MLP) == "mlp ort-cpu batch 1"
    assert case_label(PACED) == "mlp ort-cpu batch 1 paced:20us (sleep)"
    other = replace(MLP, precision="int8", threads=0, options={"memory_arena": False})
    assert case_label(other) == "mlp ort-cpu batch 1 memory_arena=False int8 auto threads"


def test_a_label_names_only_what_differs() -> None:
    two = replace(MLP, threads=2)
    assert labels([MLP, PACED, two]) == {
        MLP.case_id: "mlp · ort-cpu · 1 thread · closed loop",
        PACED.case_id: "mlp · ort-cpu · 1 thread · paced:20us (sleep)",
        two.case_id: "mlp · ort-cpu · 2 threads · closed loop",
    }
    assert labels([MLP]) == {MLP.case_id: "mlp · ort-cpu"}


def test_sizes_are_a_models_own_and_options_a_runtimes() -> None:
    lstm = Case("lstm", "ort-cpu", axes={"batch": 1, "sequence": 16})
    fast = Case("mlp", "fake", axes={"batch": 1}, options={"latency_us": 5.0})
    slow = replace(fast, options={"latency_us": 9.0})
    cases = [MLP, lstm, fast, slow]
    assert list(differences(cases).values()) == [[], [], ["latency_us=5.0"], ["latency_us=9.0"]]
    longer = replace(lstm, axes={"batch": 1, "sequence": 64})
    assert differences([lstm, longer, MLP])[longer.case_id] == ["sequence 64"]


def test_a_size_that_a_plot_has_as_its_axis_is_left_out() -> None:
    four = replace(MLP, axes={"batch": 4})
    assert differences([MLP, four])[four.case_id] == ["batch 4"]
    left_out = {MLP.case_id: "batch", four.case_id: "batch"}
    assert differences([MLP, four], exceptions=left_out) == {MLP.case_id: [], four.case_id: []}


def test_files_are_called_by_as_much_of_their_path_as_tells_them_apart() -> None:
    models = ["mlp", "/a/x/net.onnx", "/a/y/net.onnx", "/a/y/other.onnx"]
    assert list(model_labels(models).values()) == [
        "mlp",
        "x/net.onnx",
        "y/net.onnx",
        "other.onnx",
    ]


def test_models_of_one_stem_are_called_by_as_much_of_their_path_as_sets_them_apart() -> None:
    names = ("old/net.onnx", "new/net.onnx", "x/old/net.onnx", "net", "net.onnx.onnx", "net.onnx")
    cases = [Case(name, "fake") for name in names]
    assert len(set(labels(cases).values())) == len(names)
    models = model_labels(names)
    assert len({case_label(case, models) for case in cases}) == len(names)
    twins = [Case(f"null({name})", "fake") for name in names]
    assert len(set(labels([*cases, *twins]).values())) == 2 * len(names)
    (alone,) = labels(cases[:1]).values()
    assert alone == "net · fake"


def test_cases_that_differ_in_what_a_user_gave_have_labels_of_their_own() -> None:
    sources = [
        UserFiles(states={"y": "x"}),
        UserFiles(inputs="/a/in.npz", digests={"inputs": "1" * 64}),
        UserFiles(inputs="/b/in.npz", digests={"inputs": "2" * 64}),
    ]
    cases = [MLP, *(replace(MLP, given=source) for source in sources)]
    names = list(labels(cases).values())
    assert len(set(names)) == len(cases)
    assert names[1] == "mlp · ort-cpu · states=y:x"


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (None, "-"),
        (0.0456, "45.6 ns"),
        (1.0, "1.00 µs"),
        (24.14, "24.1 µs"),
        (999.9, "1.00 ms"),
        (1234.0, "1.23 ms"),
        (2.5e6, "2.50 s"),
        (1234e6, "1230 s"),
    ],
)
def test_a_latency_is_shown_in_the_unit_that_suits(microseconds: float | None, shown: str) -> None:
    assert text.latency(microseconds) == shown


def test_both_ends_of_an_interval_share_a_unit() -> None:
    assert text.interval(998.0, 1002.0) == "0.9980 to 1.002 ms"
    assert text.latency_range(0.5, 2000.0) == "500 ns to 2.00 ms", "unless they are far apart"
    assert text.interval(None, 1.0) == "-"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations_read_as_people_say_them(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown


BASE = Case("/nets/bert.onnx", "ort-cpu")
GRID = [
    replace(BASE, runtime=runtime, axes={"batch": batch}, threads=threads)
    for runtime in ("ort-cpu", "torch-cpu")
    for batch in (1, 8)
    for threads in (1, 2)
]
OTHER = [Case("/nets/gpt.onnx", name) for name in ("ort-cpu", "torch-cpu", "openvino-cpu")]


LEVELS = [replace(BASE, options={"graph_optimization": level}) for level in ("off", "basic")]
SIZES = [replace(BASE, axes={"batch": size}) for size in range(1, 21)]


@pytest.mark.parametrize(
    ("some", "all_cases", "told"),
    [
        (
            GRID,
            [*GRID, *OTHER],
            "8 cases (bert.onnx; ort-cpu, torch-cpu; batch 1, 8; threads 1, 2)",
        ),
        (GRID[:4], GRID, "4 cases (ort-cpu; batch 1, 8; threads 1, 2)"),
        (GRID[:1], GRID, "bert · ort-cpu · 1 thread · batch 1"),
        (GRID, GRID, "all 8 cases"),
        (
            GRID[2:],
            GRID,
            "all 8 cases but bert · ort-cpu · 1 thread · batch 1"
            " and bert · ort-cpu · 2 threads · batch 1",
        ),
        (GRID[1:], GRID, "all 8 cases but bert · ort-cpu · 1 thread · batch 1"),
        (
            [GRID[0], GRID[-1]],
            GRID,
            "2 cases (ort-cpu; batch 1; threads 1 | torch-cpu; batch 8; threads 2)",
        ),
        (
            LEVELS,
            [*LEVELS, replace(BASE, runtime="torch-cpu"), *OTHER],
            "2 cases (bert.onnx; ort-cpu; graph_optimization off, basic)",
        ),
        (SIZES[:10], SIZES, "10 cases (batch 1, 2, 3, 4, 5, 6 and 4 more)"),
    ],
    ids=[
        "grid",
        "shared",
        "one",
        "all",
        "all but two",
        "all but one",
        "no grid",
        "options",
        "long list",
    ],
)
def test_cases_are_told_by_what_they_share(
    some: Sequence[Case], all_cases: Sequence[Case], told: str
) -> None:
    assert CaseSet(all_cases).text([case.case_id for case in some]) == told
