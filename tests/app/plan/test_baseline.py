"""The baseline and the no-op copies of a plan: which there are, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.scenario import Scenario
from app.formatting.case_labels import case_label, model_labels, model_name
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.reference_cases import baselines, null_case
from exporters.model_names import is_factory_file, is_null, null_of, original_of

ORT = Case("mlp", "ort-cpu", axes={"batch": 1})


TORCH = replace(ORT, runtime="torch-cpu")


def of(text: str, *cases: Case) -> dict[str, Case]:
    return baselines(text, cases)


def test_a_runtime_is_compared_at_the_same_work_alone() -> None:
    eight = [replace(case, axes={"batch": 8}) for case in (ORT, TORCH)]
    paced_case = replace(TORCH, scenario=Scenario("paced", 20.0))
    base_by_case = of("ort-cpu", ORT, TORCH, *eight, paced_case)
    assert base_by_case == {TORCH.case_id: ORT, eight[1].case_id: eight[0]}


def test_options_of_another_runtime_are_no_other_work() -> None:
    compiled_case = replace(TORCH, options={"mode": "compile"})
    base_by_case = of("ort-cpu", ORT, replace(ORT, options={"sessions": 2}), TORCH, compiled_case)
    assert base_by_case == {TORCH.case_id: ORT, compiled_case.case_id: ORT}


def test_a_model_is_compared_on_each_runtime_with_itself() -> None:
    new_cases = [replace(case, model="new.onnx") for case in (ORT, TORCH)]
    assert of("mlp", ORT, TORCH, *new_cases) == {
        new_cases[0].case_id: ORT,
        new_cases[1].case_id: TORCH,
    }


def test_an_environment_is_compared_runtime_by_runtime_with_every_other() -> None:
    old = [replace(case, runtime=f"{case.runtime}@old") for case in (ORT, TORCH)]
    new = [replace(case, runtime=f"{case.runtime}@new") for case in (ORT, TORCH)]
    expected = {case.case_id: old[0] for case in (ORT, new[0])} | {new[1].case_id: old[1]}
    assert of("@old", ORT, *old, *new) == expected


def test_an_option_s_default_is_a_baseline_though_cases_leave_it_out() -> None:
    off = replace(ORT, options={"graph_optimization": "off"})
    both = replace(off, options={"graph_optimization": "off", "sessions": 2})
    assert of("ort-cpu.graph_optimization=all", ORT, off, both, TORCH) == {off.case_id: ORT}
    assert of("ort-cpu.graph_optimization=off", ORT, off, both) == {ORT.case_id: off}


def plan_of(*words: str) -> Plan:
    return plan_from_options(parse(["--headless", *words]))


NULL = ("--models", "mlp", "--runtimes", "fake", "--batch", "1,2", "--overhead")


def test_each_case_is_followed_by_its_twin() -> None:
    cases = expand(plan_of(*NULL))
    assert [(case.model, case.axes["batch"]) for case in cases] == [
        ("mlp", 1),
        ("null(mlp)", 1),
        ("mlp", 2),
        ("null(mlp)", 2),
    ]
    assert len({case.case_id for case in cases}) == 4
    plain = expand(plan_of(*NULL[:-1]))
    assert plain == cases[::2], "with twins or without, a model's case has the same name"


def test_the_estimate_counts_the_twins() -> None:
    assert estimate(plan_of(*NULL)).cases == 2 * estimate(plan_of(*NULL[:-1])).cases


@pytest.mark.parametrize("model", ["mlp", "a/b/net.onnx", "a/net.py:make", "hf:some/folder"])
def test_a_twin_is_known_by_its_name_and_its_model_is_not(model: str) -> None:
    assert is_null(null_of(model)) and not is_null(model)
    assert original_of(null_of(model)) == model == original_of(model)
    assert not is_factory_file(null_of(model)), "its name would be looked up as a path"


def test_a_file_that_looks_like_a_twin_is_a_file() -> None:
    assert not is_null("null(mlp).onnx")
    assert not is_null("null(a).py:make")


def test_twins_are_called_as_their_models_are() -> None:
    assert model_name("null(nets/a.onnx)") == "null(a)"
    assert case_label(Case("null(nets/a.onnx)", "ort-cpu")) == "null(a.onnx) ort-cpu"
    models = ["x/a.onnx", "null(x/a.onnx)", "y/a.onnx", "null(y/a.onnx)", "mlp", "null(mlp)"]
    assert list(model_labels(models).values()) == [
        "x/a.onnx",
        "null(x/a.onnx)",
        "y/a.onnx",
        "null(y/a.onnx)",
        "mlp",
        "null(mlp)",
    ]


def test_twins_are_no_part_of_a_comparison_with_a_baseline() -> None:
    ort, torch = Case("mlp", "ort-cpu"), Case("mlp", "torch-cpu")
    cases = [ort, null_case(ort), torch, null_case(torch)]
    assert baselines("ort-cpu", cases) == {torch.case_id: ort}
