"""A graph of the user's own operators runs on ONNX Runtime, and elsewhere says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.workers.output_check import check_lanes
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, load_reference
from exporters.worker.export import export
from runtimes import registry
from runtimes.errors import Unsupported
from runtimes.options import Settings
from tests.operators.built import library, save_twice

POINT = {"batch": 3}


@pytest.fixture
def twice(tmp_path: Path) -> ExportedModel:
    path = save_twice(tmp_path / "twice.onnx")
    libraries = (library(tmp_path),)
    request = ExportRequest(
        str(path), points=(POINT,), custom_ops=libraries, cache_dir=str(tmp_path / "cache")
    )
    return export(request)[0]


def test_onnxruntime_runs_it_with_its_library_and_is_checked(twice: ExportedModel) -> None:
    reference = load_reference(twice.references["batch=3"])
    with registry.load("ort-cpu").compile(twice, POINT, Settings()) as session:
        check = check_lanes(session.lanes, session.execution.precision, reference, twice, None)
    assert check.output_ok
    assert not session.execution.elsewhere


def test_without_its_library_or_with_one_that_is_none_it_is_unsupported(
    twice: ExportedModel, tmp_path: Path
) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library", "ascii")
    for libraries, word in (((), "does not know the operator"), ((str(text),), "text.so")):
        with pytest.raises(Unsupported, match=word):
            registry.load("ort-cpu").compile(
                replace(twice, custom_ops=libraries), POINT, Settings()
            )


def test_another_engine_says_that_it_does_not_know_the_operator(twice: ExportedModel) -> None:
    with pytest.raises(Unsupported, match=r"does not know the operator graphlap\.test\.Twice"):
        registry.load("openvino-cpu").compile(twice, POINT, Settings())
