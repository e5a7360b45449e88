"""What a case is called beside others: no more than sets it apart, and never the same twice."""

from __future__ import annotations

from dataclasses import replace

from app.cases.case import Case
from app.cases.scenario import Scenario
from app.cases.user_files import UserFiles
from app.formatting.case_labels import case_label, differences, labels, model_labels

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


def test_labels_of_cases_that_differ_never_agree() -> None:
    cases = [
        replace(MLP, axes={"batch": batch}, threads=threads, options=options, precision=precision)
        for batch in (1, 4)
        for threads in (1, 2)
        for options in ({}, {"memory_arena": False}, {"memory_arena": False, "sessions": 2})
        for precision in ("fp32", "int8")
    ]
    assert len(set(labels(cases).values())) == len(cases)


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
