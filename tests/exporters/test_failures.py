"""What an export lacks is told by its own status: memory, or a name that a file can hold."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from exporters.messages import ExportRequest
from exporters.types import ExportError
from exporters.worker.__main__ import _failed
from tests.exporters.graphs import graph, tensor
from tests.exporters.support import WorkerProcess


def test_a_want_of_memory_is_no_fault_of_the_model() -> None:
    error = ExportError("too large", "make it smaller")
    error.__cause__ = MemoryError()
    assert _failed(MemoryError("Unable to allocate 16.0 GiB")).status == "out_of_memory"
    assert _failed(error).status == "out_of_memory"
    assert _failed(RuntimeError("std::bad_alloc")).status == "out_of_memory"
    assert _failed(ExportError("wrong", "mend")).status == "export_failed"
    assert _failed(ValueError("wrong")).status == "export_failed"


def test_an_input_larger_than_memory_is_out_of_memory(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    sizes = [1 << 22, 1 << 22]  # 64 TiB of float32
    path = tmp_path / "large.onnx"
    node = helper.make_node("ReduceMax", ["x"], ["y"], keepdims=0)
    onnx.save(graph([node], [tensor("x", sizes)], [tensor("y", [])]), path)
    reply = worker.ask(ExportRequest(str(path)))
    assert reply.status == "out_of_memory", reply.reason


@pytest.mark.parametrize("length", [64_000, 70_000, 1_000_000])
def test_a_name_that_no_file_holds_is_refused_in_a_sentence(
    length: int, worker: WorkerProcess, tmp_path: Path
) -> None:
    name, path = "n" * length, tmp_path / "long.onnx"
    node = helper.make_node("Relu", [name], ["y"])
    onnx.save(graph([node], [tensor(name, [4])], [tensor("y", [4])]), path)
    reply = worker.ask(ExportRequest(str(path)))
    assert reply.status == ("ok" if length < 65_000 else "export_failed")
    assert "shorter name" in reply.reason or not reply.reason
    assert len(reply.reason) < 400
