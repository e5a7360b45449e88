"""Files and nodes that a user gives along: known by content, checked before anything runs."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.user_files import UserFiles
from app.plan.expand import expand
from app.plan.plan import parse_plan
from exporters.codec import from_json, to_json
from tests.app.sweep.sweeps import write_add_graph


def cases(**plan: object) -> tuple[Case, ...]:
    grid = {"models": plan.pop("models", ["mlp"]), "runtimes": ["fake"]}
    grid |= {"precisions": plan.pop("precisions", ["fp32"])}
    return expand(parse_plan({"sweeps": [grid], **plan}, "test"))


def test_a_case_is_known_by_a_files_content_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"same")
    (tmp_path / "b.safetensors").write_bytes(b"same")
    (tmp_path / "c.safetensors").write_bytes(b"other")
    plain = cases()[0]
    first, two, other = (
        cases(weights=str(tmp_path / f"{name}.safetensors"))[0] for name in ("a", "b", "c")
    )
    assert first.case_id == two.case_id
    assert len({plain.case_id, first.case_id, other.case_id}) == 3


def test_a_case_that_is_fed_otherwise_survives_the_manifest_and_is_another_case(
    tmp_path: Path,
) -> None:
    for name in "ab":
        np.savez(tmp_path / f"{name}.npz", x=np.zeros((2, 256), np.float32))
        (tmp_path / f"{name}.so").write_bytes(f"RegisterCustomOps {name}".encode())
    (tmp_path / "w.safetensors").write_bytes(b"weights")
    files = ",".join(str(tmp_path / f"{name}.npz") for name in "ab")
    libraries = [str(tmp_path / f"{name}.so") for name in "ab"]
    ways: list[dict[str, object]] = [
        {},
        {"weights": str(tmp_path / "w.safetensors")},
        {"input_range": {"x": [0, 1]}},
        {"states": {"y": "x"}},
        {"inputs": files, "rotate_inputs": True},
        {"custom_ops": libraries[:1]},
        {"custom_ops": libraries[1:]},
        {"custom_ops": libraries},
    ]
    found_cases = [cases(**way)[0] for way in ways]
    assert len({case.case_id for case in found_cases}) == len(ways)
    for case in found_cases:
        again = from_json(Case, to_json(case))
        assert (again, again.case_id) == (case, case.case_id)
    _, weighted, _, _, fed, *_, both = found_cases
    assert str(weighted.given) == "weights=w.safetensors"
    assert fed.axes == {"batch": 2}, "own inputs set the axes"
    assert both.given.request["custom_ops"] == tuple(libraries)
    assert str(both.given) == "custom_ops=a.so,b.so"


def test_calibration_is_no_part_of_what_a_float_case_is_known_by(tmp_path: Path) -> None:
    paths = {}
    for field in ("inputs", "calibration"):
        paths[field] = str(tmp_path / f"{field}.npz")
        np.savez(paths[field], x=np.zeros(4, np.float32))
    both = UserFiles.of_paths(paths)
    assert both.at("int8") is both
    inputs = UserFiles.of_paths({"inputs": paths["inputs"]})
    assert both.at("fp32").identity == inputs.identity != both.identity


def test_each_further_file_of_inputs_makes_another_case(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{number}.npz") for number in range(3)]
    for number, file in enumerate(files):
        np.savez(file, x=np.full(4, number, np.float32))
    known = [
        UserFiles.of_paths({"inputs": files[0]}, more_inputs=more).identity
        for more in ([], [files[1]], [files[2]], [files[1], files[2]])
    ]
    assert all(first != second for first, second in combinations(known, 2))
    assert list(known[-1]) == ["inputs", "inputs_2", "inputs_3"]


def test_a_part_of_a_graph_is_planned_with_its_own_axes(tmp_path: Path) -> None:
    path = str(write_add_graph(tmp_path / "open.onnx", (4, "rows")))
    for node, named in (("ad", "add"), ("add", "rows")):
        with pytest.raises(PlanError, match=named):
            cases(models=[path], from_nodes=[node])


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        ({"weights": "/nowhere/w.safetensors"}, "can't be read"),
        ({"inputs": "/nowhere/x.npz"}, "can't be read"),
        ({"custom_ops": ["/nowhere/operators.so"]}, "can't be read"),
        (
            {"custom_ops": [pytest.__file__]},
            "no library of operators .*RegisterCustomOps: give the shared",
        ),
        ({"from_nodes": ["a"]}, "no .onnx file"),
    ],
)
def test_what_the_plan_shows_wrong_is_one_sentence(plan: dict[str, object], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        cases(**plan)
