"""A module's references: torch and its graph; a graph that is broken is refused all the same."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from exporters import steps as versions
from exporters.diagnostics.catalogue import codes
from exporters.messages import ExportRequest
from exporters.models.catalogue import names
from exporters.pytorch import source
from exporters.pytorch.table import table
from exporters.steps import Done, done
from exporters.types import EVALUATED, UNOPTIMISED, ExportError, load_reference
from exporters.worker.export import export

_FACTORIES = """
import torch

class Plain(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1

class Broken(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.onnx.is_in_onnx_export() else x * 3

def plain():
    return Plain(), {"x": torch.zeros(2, 8)}

def broken():
    return Broken(), {"x": torch.zeros(2, 8)}
"""


def _request(folder: Path, function: str) -> ExportRequest:
    file = folder / "modules.py"
    file.write_text(_FACTORIES, "utf-8")
    return ExportRequest(f"{file}:{function}", cache_dir=str(folder / "cache"))


@pytest.fixture
def wrong_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime computes every output wrongly."""
    right = onnxruntime.InferenceSession.run

    def run(self: Any, names: Sequence[str], feed: Any, *options: Any) -> list[np.ndarray]:
        return [array + np.float32(5) for array in right(self, names, feed, *options)]

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", run)


def test_torch_and_onnx_runtime_vouch_for_a_module(tmp_path: Path) -> None:
    model, _ = export(_request(tmp_path, "plain"))
    (file,) = model.references.values()
    reference = load_reference(file)
    assert (model.reference, reference.by) == ("torch", ("torch", UNOPTIMISED))
    assert (model.warnings, dict(reference.missing)) == ((), {})


@pytest.mark.usefixtures("wrong_runtime")
def test_a_graph_that_onnx_runtime_alone_computes_wrongly_is_measured_and_marked(
    tmp_path: Path,
) -> None:
    model, _ = export(_request(tmp_path, "plain"))
    (file,) = model.references.values()
    reference = load_reference(file)
    assert (reference.by, list(reference.others)) == (("torch", EVALUATED), [UNOPTIMISED])
    pairs = [(disagreement.first, disagreement.second) for disagreement in reference.disagreements]
    assert pairs == [("torch", UNOPTIMISED), (EVALUATED, UNOPTIMISED)]
    assert reference.disagreements[1].node
    assert "engine_disputes_graph" in codes(model.warnings)


def test_a_graph_that_is_not_its_module_is_refused_however_many_evaluators_there_are(
    tmp_path: Path,
) -> None:
    with pytest.raises(ExportError, match="differs from its torch module"):
        export(_request(tmp_path, "broken"))


@pytest.mark.usefixtures("wrong_runtime")
def test_a_graph_that_everybody_computes_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="differs from its torch module"):
        export(_request(tmp_path, "broken"))


def test_another_onnx_runtime_exports_a_module_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has run the graph, and whether it could is kept with the graph."""
    stored_flags: list[bool] = []

    def record_step(*given: Any, **rest: Any) -> Done:
        stored_flags.append((step := done(*given, **rest)).stored)
        return step

    monkeypatch.setattr(source, "done", record_step)
    request = ExportRequest("mlp", cache_dir=str(tmp_path))
    export(request)
    export(request)
    version = versions._version
    monkeypatch.setattr(
        versions, "_version", lambda name: "9.9" if name == "onnxruntime" else version(name)
    )
    versions.made_by.cache_clear()
    try:
        export(request)
    finally:
        versions.made_by.cache_clear()
    assert stored_flags == [False, True, False]


def test_a_package_that_is_not_installed_has_no_version_and_raises_nothing() -> None:
    assert versions.made_by(packages=("no_such_package",))["no_such_package"] == "not installed"


COMMITTED = files("assets").joinpath("catalogue.csv").read_text("utf-8")


@pytest.mark.rare
def test_the_table_is_what_the_definitions_give_now() -> None:
    """If this fails, `python -m exporters.pytorch.table` and commit what it writes."""
    assert table() == COMMITTED


def test_every_model_has_its_line_and_its_sizes() -> None:
    rows = list(csv.DictReader(COMMITTED.splitlines()))
    assert [row["name"] for row in rows] == list(names())
    for row in rows:
        assert int(row["parameters_with_buffers"]) >= int(row["parameters"]) >= 0
        assert row["macs"].isdecimal(), row["name"]


def test_the_zoo_has_the_published_parameters() -> None:
    published_text = files("assets").joinpath("published", "gluon_zoo.csv").read_text("utf-8")
    own_rows = {row["name"]: row for row in csv.DictReader(COMMITTED.splitlines())}
    for row in csv.DictReader(published_text.splitlines()):
        own_count = own_rows[row["model"]]["parameters_with_buffers"]
        assert own_count == row["parameters_with_running_stats"], row["model"]
