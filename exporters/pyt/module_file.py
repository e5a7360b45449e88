"""The ONNX graph of a torch module that exists only in this process, as in a notebook."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from exporters.brought import brought_of
from exporters.pyt.graph import MODEL, exported
from exporters.pyt.run import ModuleEvaluator
from exporters.pyt.to_onnx import Exporter
from exporters.pyt.user import definition_of, examples_of
from exporters.types import ExportError


def onnx_bytes(made: tuple[Any, ...], title: str) -> bytes:
    """The graph of a module with example inputs, as a factory returns them, checked against the
    module, which keeps its mode. ExportError where torch can't export it."""
    modes = [(part, part.training) for part in made[0].modules()]
    try:
        return _exported(made, title)
    finally:
        for part, training in modes:
            part.training = training


def _exported(made: tuple[Any, ...], title: str) -> bytes:
    brought = brought_of(made, title)
    definition, is_flat = definition_of(title, title, brought, 0)
    evaluator = ModuleEvaluator(definition, None, brought, is_flat)
    examples = examples_of(brought)
    faults: list[ExportError] = []
    for exporter in get_args(Exporter):
        with TemporaryDirectory() as folder:
            try:
                made_files = exported(
                    Path(folder), definition, evaluator, False, examples, exporter
                ).files
                return made_files[MODEL].read_bytes()
            except ExportError as fault:
                faults.append(fault)
    raise faults[0]
