"""The baseline and the no-op copies of a plan: which there are, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.scenario import Scenario
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.reference_cases import baselines, null_case
from exporters.model_names import is_factory_file, is_null, null_of, original_of

ORT = Case("mlp", "ort-cpu", axes={"batch": 1})


TORCH = replace(ORT, runtime="torch-cpu")


def environment(name: str) -> list[Case]:
    return [replace(case, runtime=f"{case.runtime}@{name}") for case in (ORT, TORCH)]


EIGHT = [replace(case, axes={"batch": 8}) for case in (ORT, TORCH)]
PACED = replace(TORCH, scenario=Scenario("paced", 20.0))
SESSIONS = replace(ORT, options={"sessions": 2})
COMPILED = replace(TORCH, options={"mode": "compile"})
NEW_MODELS = [replace(case, model="new.onnx") for case in (ORT, TORCH)]
OLD, NEW = environment("old"), environment("new")
OFF = replace(ORT, options={"graph_optimization": "off"})
OFF_TWICE = replace(OFF, options={"graph_optimization": "off", "sessions": 2})


@pytest.mark.parametrize(
    ("text", "cases", "pairs"),
    [
        ("ort-cpu", (ORT, TORCH, *EIGHT, PACED), [(TORCH, ORT), (EIGHT[1], EIGHT[0])]),
        ("ort-cpu", (ORT, SESSIONS, TORCH, COMPILED), [(TORCH, ORT), (COMPILED, ORT)]),
        ("mlp", (ORT, TORCH, *NEW_MODELS), [(NEW_MODELS[0], ORT), (NEW_MODELS[1], TORCH)]),
        ("@old", (ORT, *OLD, *NEW), [(ORT, OLD[0]), (NEW[0], OLD[0]), (NEW[1], OLD[1])]),
        ("ort-cpu.graph_optimization=all", (ORT, OFF, OFF_TWICE, TORCH), [(OFF, ORT)]),
        ("ort-cpu.graph_optimization=off", (ORT, OFF, OFF_TWICE), [(ORT, OFF)]),
        ("ort-cpu", (ORT, null_case(ORT), TORCH, null_case(TORCH)), [(TORCH, ORT)]),
    ],
    ids=["runtime", "options", "model", "environment", "default", "option", "null"],
)
def test_a_case_is_compared_at_the_same_work_alone(
    text: str, cases: tuple[Case, ...], pairs: list[tuple[Case, Case]]
) -> None:
    assert baselines(text, cases) == {case.case_id: base for case, base in pairs}


def plan_of(*words: str) -> Plan:
    return plan_from_options(parse(["--headless", *words]))


NULL = ("--models", "mlp", "--runtimes", "fake", "--batch", "1,2", "--overhead")


def test_each_case_is_followed_by_its_twin() -> None:
    cases = expand(plan_of(*NULL))
    pairs = [(model, batch) for batch in (1, 2) for model in ("mlp", "null(mlp)")]
    assert [(case.model, case.axes["batch"]) for case in cases] == pairs
    assert len({case.case_id for case in cases}) == 4
    plain = expand(plan_of(*NULL[:-1]))
    assert plain == cases[::2], "with twins or without, a model's case has the same name"
    assert estimate(plan_of(*NULL)).cases == 2 * estimate(plan_of(*NULL[:-1])).cases


@pytest.mark.parametrize("model", ["mlp", "a/b/net.onnx", "a/net.py:make", "hf:some/folder"])
def test_a_twin_is_known_by_its_name_and_its_model_is_not(model: str) -> None:
    assert is_null(null_of(model)) and not is_null(model)
    assert original_of(null_of(model)) == model == original_of(model)
    assert not is_factory_file(null_of(model)), "its name would be looked up as a path"
    assert not is_null("null(mlp).onnx") and not is_null("null(a).py:make")
