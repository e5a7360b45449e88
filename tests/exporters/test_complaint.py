"""What an export lacks or complains of, in one line with its own status, within its limit."""

from __future__ import annotations

import threading
from pathlib import Path

import onnx
import pytest
from onnx import helper

from exporters.messages import ExportRequest
from exporters.types import ExportError, first_line, named
from exporters.validation import TooSlow, within
from exporters.worker.__main__ import _failed
from tests.exporters.support import WorkerProcess, graph, tensor


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\x1b[31mno such node\x1b[0m\nand more", "no such node"),
        ("", "ValueError"),
        (
            "Nodes in a graph must be topologically sorted, however input 't' of node: \n"
            "name: second OpType: Relu\n is not output of any previous nodes.",
            "Nodes in a graph must be topologically sorted, however input 't' of node: "
            "name: second OpType: Relu",
        ),
        ("it ends here:", "it ends here:"),
        ("\n\n  Context:\n\n  the sizes differ\n  here", "Context: the sizes differ"),
    ],
)
def test_a_line_that_ends_with_a_colon_is_told_with_the_next(text: str, told: str) -> None:
    assert first_line(ValueError(text)) == told


def test_bytes_that_are_no_text_are_told_as_such() -> None:
    try:
        b"\xe5\xe5".decode()
    except UnicodeDecodeError as error:
        assert first_line(error) == "a name in it is no text"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such node\nand more"), "ValueError: no such node"),
        (SystemExit(), "SystemExit"),
        (KeyError("\n"), "KeyError: '\\n'"),
    ],
)
def test_an_error_that_nobody_foresaw_is_told_by_its_type(error: BaseException, told: str) -> None:
    assert named(error) == told


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


def test_a_result_and_a_fault_come_back() -> None:
    assert within(60, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 // 0)


def test_a_loop_without_an_end_is_ended_even_if_it_catches_every_error() -> None:
    def endless() -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    with pytest.raises(TooSlow):
        within(0.2, endless)
    assert not [thread for thread in threading.enumerate() if thread.name == "limited"]
