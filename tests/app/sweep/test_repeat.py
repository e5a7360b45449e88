"""`--plan RUNDIR` measures the same again, or says in one sentence what is no longer the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.cases.errors import PlanError
from app.cases.jobs import BATCH
from app.plan.plan import Plan
from app.run_folder.manifest import read_manifest
from app.sweep.run_creation import create_run, repeat
from tests.app.sweep.sweeps import run_to_end, small_plan
from tests.exporters.support import save_affine

pytestmark = pytest.mark.usefixtures("brief")

FACTORY = """
import torch

def build():
    return torch.nn.Linear(4, 2), {"x": torch.zeros(1, 4)}
"""


@pytest.fixture
def own(tmp_path: Path) -> Plan:
    """A plan of an .onnx with data beside it, on inputs of the user's own."""
    save_affine(tmp_path / "affine.onnx", external="affine.weights")
    np.savez(tmp_path / "in.npz", x=np.ones((2, 64), np.float32))
    grid = {"models": [str(tmp_path / "affine.onnx")], "batch_size": [2]}
    return small_plan(tmp_path, grid, seed=7, inputs=str(tmp_path / "in.npz"))


def test_a_run_is_repeated_case_by_case_with_its_own_inputs_and_knows_which(
    tmp_path: Path, own: Plan
) -> None:
    create_run(own, tmp_path / "one").close()
    content = (tmp_path / "in.npz").read_bytes()
    (tmp_path / "in.npz").unlink()
    (row,) = run_to_end(repeat(tmp_path / "one", tmp_path / "two"))
    first, two = read_manifest(tmp_path / "one"), read_manifest(tmp_path / "two")
    assert [case.case_id for case in two.cases] == [case.case_id for case in first.cases]
    assert (two.rounds, two.seed, two.limits) == (first.rounds, first.seed, first.limits)
    assert (two.repeats, first.repeats) == (first.run_id, "")
    assert row["status"] == "ok"
    (copy,) = (file.kept for file in two.files)
    assert (tmp_path / "two" / copy).read_bytes() == content


def test_a_file_that_has_changed_is_refused_in_one_sentence(tmp_path: Path, own: Plan) -> None:
    run_to_end(create_run(own, tmp_path / "one"))
    for name in ("in.npz", "affine.onnx", "affine.weights"):
        file = tmp_path / name
        content = file.read_bytes()
        file.write_bytes(content + b"\x00")
        told = rf"{name} has changed since .*/one measured it: put"
        with pytest.raises(PlanError, match=told) as refused:
            repeat(tmp_path / "one", tmp_path / "two")
        assert ("put back" in str(refused.value)) == (name == "in.npz")
        assert not (tmp_path / "two").exists()
        file.write_bytes(content)


def test_a_factory_is_kept_and_asked_back_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(FACTORY)
    create_run(small_plan(tmp_path, {"models": [f"{file}:build"]}), tmp_path / "one").close()
    stored_copy = tmp_path / "one" / read_manifest(tmp_path / "one").files[0].kept
    assert stored_copy.read_text() == FACTORY
    repeat(tmp_path / "one", tmp_path / "two").close()
    file.unlink()
    told = r"net\.py, which .* measured, is not there: copy .*/files/"
    with pytest.raises(PlanError, match=told):
        repeat(tmp_path / "one", tmp_path / "three")
    stored_copy.replace(file)
    repeat(tmp_path / "one", tmp_path / "four").close()


def test_labelled_images_that_are_gone_are_taken_from_the_run(tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, images=np.zeros((BATCH, 3), np.float32), labels=np.zeros(BATCH, np.int64))
    content = data.read_bytes()
    create_run(small_plan(tmp_path, accuracy=str(data)), tmp_path / "one").close()
    data.unlink()
    repeat(tmp_path / "one", tmp_path / "two").close()
    assert Path(read_manifest(tmp_path / "two").requested_plan.accuracy).read_bytes() == content
