"""A wrong plan is one sentence with cause and remedy: keys, values, files that are broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.cases.errors import PlanError
from app.plan.estimate import model_faults
from app.plan.plan import named_lengths, parse_plan
from app.plan.runtime_options import option_sets, reject_unknown_options
from app.plan.settings.sweep import Sweep

GRID = {"models": ["cnn_tiny"]}


def test_rounds_and_time_limit_override_the_profile() -> None:
    plan = parse_plan({"sweeps": [GRID], "profile": "standard", "rounds": 7}, "the plan")
    assert plan.lengths.rounds == 7
    assert plan.lengths.limits == named_lengths()["standard"].limits
    assert plan.lengths.time_limit_s == named_lengths()["standard"].time_limit_s


def test_a_session_entry_is_an_option_like_others_unless_graphlap_sets_it() -> None:
    key = "ort-cpu.session.x64quantprecision"
    sweep = Sweep(models=("mlp",), options={key: ("0", "1")})
    reject_unknown_options(sweep, ["ort-cpu"])
    values = [options["session.x64quantprecision"] for options in option_sets(sweep, "ort-cpu")]
    assert values == ["0", "1"]
    sweep = Sweep(models=("mlp",), options={"ort-cpu.session.intra_op.allow_spinning": ("0",)})
    with pytest.raises(PlanError) as exc_info:
        reject_unknown_options(sweep, ["ort-cpu"])
    assert "ort-cpu.intra_op_spinning" in exc_info.value.remedy


def with_weights_beside(path: Path) -> Path:
    """A MatMul whose weights lie in a second file."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])
    weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weights]))
    weights_file = f"{path.stem}.bin"
    onnx.save(model, path, save_as_external_data=True, location=weights_file, size_threshold=0)
    return path


def test_each_kind_of_broken_file_is_told_with_its_remedy(tmp_path: Path) -> None:
    good = with_weights_beside(tmp_path / "good.onnx")
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "text.onnx").write_text("a page that says 404\n")
    (tmp_path / "half.onnx").write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    (tmp_path / "folder.onnx").mkdir()
    with_weights_beside(tmp_path / "alone.onnx").with_suffix(".bin").unlink()
    cut = with_weights_beside(tmp_path / "cut.onnx").with_suffix(".bin")
    cut.write_bytes(cut.read_bytes()[:100])
    remedies = {
        "empty": "it is empty",
        "text": "it is a text that begins with",
        "half": "is truncated",
        "folder": "is no file",
        "alone": "'alone.bin', which is not there",
        "cut": "'cut.bin' of cut.onnx ends before",
    }
    word = str(tmp_path / "*.onnx")
    faults = model_faults([word, *(str(tmp_path / f"{name}.onnx") for name in ("good", *remedies))])
    assert "alone.bin" in str(faults.pop(word)), "a glob has the fault of its first"
    assert set(faults) == {str(tmp_path / f"{name}.onnx") for name in remedies}
    for name, words in remedies.items():
        fault = faults[str(tmp_path / f"{name}.onnx")]
        assert words in str(fault) and fault.remedy, name
    (tmp_path / "alone.bin").write_bytes((tmp_path / "good.bin").read_bytes())
    assert not model_faults([str(tmp_path / "alone.onnx")]), "it is looked at anew"
