"""A glob is planned though one of its files kills, hangs or confuses whoever reads it."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import onnx
import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.plan.axis_sizes import read_shapes
from app.plan.expand import expand, sizes_assumed
from app.plan.models import Outlines
from app.plan.plan import parse_plan
from exporters.messages import OutlineRequest
from exporters.onnx_files.outline import outline
from exporters.types import ExportError
from tests.app.sweep.sweeps import script, write_add_graph
from tests.exporters.support import save_affine


def models(pattern: Path, **grid: object) -> dict[str, dict[str, int]]:
    """Model -> axes of the cases that a glob comes to."""
    values = {"models": [str(pattern)], "runtimes": ["fake"], **grid}
    cases = expand(parse_plan({"sweeps": [values]}, "the plan"))
    return {Path(case.model).name: dict(case.axes) for case in cases}


def test_what_is_wrong_with_one_of_many_files_costs_its_row_and_no_time(tmp_path: Path) -> None:
    """An axis that it leaves open, an element type that nobody knows, or it is no file."""
    write_add_graph(tmp_path / "sound.onnx", ("batch", 3))
    write_add_graph(tmp_path / "open.onnx", ("batch", "classes"))
    model = onnx.load(write_add_graph(tmp_path / "type.onnx"))
    model.graph.input[0].type.tensor_type.elem_type = 99
    onnx.save(model, tmp_path / "type.onnx")
    (tmp_path / "folder.onnx").mkdir()
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "nothing.onnx").symlink_to("/dev/zero")
    file_models = models(tmp_path / "*.onnx", batch_size=[4])
    assert file_models.pop("sound.onnx") == {"batch": 4}
    odd = ("open.onnx", "type.onnx", "folder.onnx", "pipe.onnx", "nothing.onnx")
    assert file_models == {name: {} for name in odd}
    with pytest.raises(PlanError, match="'classes' of "):
        models(tmp_path / "open.onnx", batch_size=[4])


def test_all_axes_of_all_files_that_need_a_size_are_named_at_once(tmp_path: Path) -> None:
    write_add_graph(tmp_path / "a.onnx", ("batch", "classes"))
    write_add_graph(tmp_path / "b.onnx", (3, "boxes", 2, 1, "kinds"))
    with pytest.raises(PlanError) as refusal:
        models(tmp_path / "*.onnx")
    assert all(f"--axis {name}=" in refusal.value.remedy for name in ("classes", "boxes", "kinds"))
    sizes = {"classes": [2], "boxes": [3], "kinds": [4]}
    assert models(tmp_path / "*.onnx", axes=sizes) == {
        "a.onnx": {"batch": 1, "classes": 2},
        "b.onnx": {"boxes": 3, "kinds": 4},
    }


def test_only_sizes_that_nobody_gave_are_assumed(tmp_path: Path) -> None:
    path = write_add_graph(tmp_path / "a.onnx", ("batch", "past", 8))
    assert models(path) == {"a.onnx": {"batch": 1, "past": 128}}
    assert models(path, axes={"past": [7]}) == {"a.onnx": {"batch": 1, "past": 7}}
    values = {"models": [str(path)], "runtimes": ["fake"], "axes": {"past": [5]}}
    assert sizes_assumed(parse_plan({"sweeps": [values]}, "the plan")) == {str(path): {"batch": 1}}
    both = {"sweeps": [{**values, "batch_size": [2]}]}
    assert sizes_assumed(parse_plan(both, "the plan")) == {}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended with signal SIGSEGV"),
        ("print('no reply', flush=True); time.sleep(60)", "took longer than 3 s"),
        ("sys.exit(3)", "ended with exit code 3"),
        ("held = b'x' * 2**28; time.sleep(60)", "took more than 128 MiB of memory"),
    ],
)
def test_a_file_that_ends_its_reader_is_told_and_the_next_is_read(
    tmp_path: Path, body: str, why: str
) -> None:
    """The reader of these tests does to itself what a file may do to it, but for one name."""
    good = '{"outline": {"inputs": [], "axes": ["n"], "batch": "n", "sequence": ""}}'
    answer = f"print({good!r}, flush=True)"
    body = f"for line in sys.stdin:\n if 'good' in line: {answer}\n else: {body}\n"
    command = script(tmp_path / "reader.py", body)
    with Outlines(command, time_limit_s=3.0, memory_limit_bytes=2**27) as outlines:
        assert outlines.outline_of(OutlineRequest("good.onnx")).axes == ("n",)
        with pytest.raises(ExportError, match=why):
            outlines.outline_of(OutlineRequest("bad.onnx"))
        assert outlines.outline_of(OutlineRequest("good too.onnx")).batch == "n"


def test_a_large_file_is_planned_without_its_weights_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    save_affine(path)
    hole = 1_500 * 2**20
    raw = b"\x4a" + _varint(hole)  # TensorProto.raw_data
    weights = b"\x2a" + _varint(len(raw) + hole) + raw  # GraphProto.initializer
    with path.open("ab") as file:
        file.write(b"\x3a" + _varint(len(weights) + hole) + weights)  # more of ModelProto.graph
        file.truncate(file.tell() + hole)
    tracemalloc.start()
    assert outline(OutlineRequest(str(path))).axes == ("batch",)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 2**20


def _varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def cases(path: Path, grid: dict[str, Any] | None = None) -> tuple[Case, ...]:
    whole = {"models": ["mlp"], "runtimes": ["fake"], "conditions": [f"shapes:{path}"]}
    return expand(parse_plan({"sweeps": [{**whole, **(grid or {})}]}, "the plan"))


@pytest.fixture
def mix(tmp_path: Path) -> Path:
    path = tmp_path / "mix.csv"
    path.write_text("batch,weight\n1,10\n8,2.5\n\n1,2\n")
    return path


def test_equal_lines_are_one_shape_that_comes_more_often(mix: Path) -> None:
    shapes = read_shapes(str(mix))
    assert (shapes.points, shapes.weights) == (({"batch": 1}, {"batch": 8}), (12.0, 2.5))
    mix.write_text("\ufeff sequence , batch\n16,1\n128,1\n16,1\n16, 1\n")
    shapes = read_shapes(str(mix))
    assert shapes.axes == ("sequence", "batch")
    assert dict(zip(shapes.sizes, shapes.weights, strict=True)) == {(16, 1): 3.0, (128, 1): 1.0}


def test_the_sizes_are_the_files_and_those_of_the_plan_are_other_conditions(mix: Path) -> None:
    grid = {"conditions": ["none", f"shapes:{mix}"], "batch_size": [4, 8]}
    *fixed_cases, shaped_case = cases(mix, grid)
    assert [case.axes for case in fixed_cases] == [{"batch": 4}, {"batch": 8}]
    assert shaped_case.axes == {}
    graph = str(write_add_graph(mix.with_name("open.onnx"), ("batch", 3)))
    (open_case,) = cases(mix, {"models": [graph]})
    assert open_case.axes == {}, "the batch that it leaves open needs no other size"
    assert shaped_case.condition.points == ({"batch": 1}, {"batch": 8})


def test_a_case_is_known_by_what_is_in_the_file(mix: Path) -> None:
    (case,) = cases(mix)
    copy_path = mix.with_name("other.csv")
    copy_path.write_text(mix.read_text().replace("\n\n", "\n"))
    assert cases(copy_path)[0].case_id == case.case_id
    copy_path.write_text("batch,weight\n1,12\n8,2\n")
    assert cases(copy_path)[0].case_id != case.case_id


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty: begin it with a line such as batch,sequence"),
        ("weight\n1\n", "names no axes, or one twice"),
        ("batch\n1\n", "has 1 different shapes, and a session is given 2 to 64: measure one"),
        ("batch\n" + "\n".join(map(str, range(1, 66))), "has 65 different shapes, and a session"),
        ("batch\n1\n2,3\n", "line 3 of .* has 2 values for 1 columns: give each column one"),
        ("batch\n1\n0\n", "line 3 of .* has '0' as the size of 'batch': give an integer"),
        (None, r"the shapes in .* can't be read \(No such file"),
        (b"\xff\xfe\x00", r"can't be read \(it is no text\): give a CSV"),
        ("batch\n1\n4294967296\n", "has '4294967296' as the size of 'batch'"),
        ("batch,weight\n1,1\n8,-1\n", "line 3 of .* has the weight '-1': give a number above 0"),
        ("sequence\n1\n8\n", "sizes of 'sequence', and mlp has no such axis: .*batch"),
    ],
)
def test_a_file_that_is_wrong_is_told_with_its_line(
    tmp_path: Path, text: str | bytes | None, told: str
) -> None:
    path = tmp_path / "bad.csv"
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(PlanError, match=told):
        cases(path)


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ({"batch_size": [4]}, "gives 'batch' its sizes, and so does the plan: leave"),
        ({"scenarios": ["rate:200/s"]}, "one at a time, and rate has no pauses"),
        ({"scenarios": ["rate:200/s"], "batcher": ["max=8,wait=2ms"]}, "makes batches by itself"),
    ],
)
def test_what_goes_with_one_shape_alone_is_refused(
    mix: Path, grid: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        cases(mix, grid)
