"""The baseline of a plan: which case each is compared with, and what is refused beforehand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.reference_cases import baselines

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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--runtimes fake,ort-cpu --baseline ort-cp", "did you mean 'ort-cpu'"),
        ("--runtimes ort-cpu --baseline ort-cpu", "every case is of the baseline 'ort-cpu'"),
        (
            "--runtimes fake --baseline fake.latency_us=many",
            "the baseline 'fake.latency_us=many': ",
        ),
        ("--runtimes fake,ort-cpu --baseline @old", "'@old' is no case of this plan"),
        ("--runtimes ort-cpu --models mlp,cnn_tiny_seq --batch 1 --baseline mlp", "in that alone"),
    ],
)
def test_a_baseline_that_compares_nothing_is_refused_before_anything_is_written(
    arguments: str, sentence: str
) -> None:
    words = arguments.split()
    models = [] if "--models" in words else ["--models", "mlp"]
    with pytest.raises(PlanError) as exc_info:
        expand(plan_from_options(parse(["--headless", *models, *words])))
    assert sentence in str(exc_info.value)
