"""A BERT in each form that people have it in is measured and checked, whoever optimised it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.workers.output_check import check_lanes
from exporters.messages import ExportRequest
from exporters.types import UNOPTIMISED, load_reference
from exporters.worker.export import export
from runtimes import registry
from runtimes.options import Settings
from tests.checkout import ROOT
from tests.exporters.berts import FORMS, LENGTH

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="transformers, of the extra dev, is not installed"
)


@pytest.fixture(scope="module")
def berts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("berts")
    process = subprocess.run(
        [sys.executable, "-m", "tests.exporters.berts", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return folder


@pytest.mark.rare
@pytest.mark.parametrize("form", FORMS)
def test_a_bert_is_right_on_every_engine_of_the_host(
    berts: Path, form: str, tmp_path: Path
) -> None:
    """onnx's own evaluator gathers wrongly from 64 positions on, and knows no fused operator."""
    point = {"batch": 2, "sequence": LENGTH}
    request = ExportRequest(str(berts / f"{form}.onnx"), points=(point,), cache_dir=str(tmp_path))
    model, _ = export(request)
    assert model.reference == (UNOPTIMISED if form == "fused" else "onnx")
    assert model.narrowest == {"quantised": "int8", "half": "fp16"}.get(form, "fp32")
    (file,) = model.references.values()
    reference = load_reference(file)
    for name in ("ort-cpu", "openvino-cpu"):
        with registry.load(name).compile(model, point, Settings()) as session:
            check = check_lanes(session.lanes, session.execution.precision, reference, model, None)
        assert check.output_ok, (name, check)
        assert check.max_rel_error < (1e-2 if form == "half" else 1e-5), (name, check)
