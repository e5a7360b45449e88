"""A glob is planned though one of its files kills, hangs or confuses whoever reads it."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import onnx
import pytest

from app.cases.errors import PlanError
from app.plan.expand import expand, sizes_assumed
from app.plan.models import Outlines
from app.plan.plan import parse_plan
from exporters.messages import OutlineRequest
from exporters.onnx_files.outline import outline
from exporters.types import ExportError
from tests.app.sweep.sweeps import script, write_add_graph
from tests.exporters.graphs import save_affine


def models(pattern: Path, **grid: object) -> dict[str, dict[str, int]]:
    """Model -> axes of the cases that a glob comes to."""
    values = {"models": [str(pattern)], "runtimes": ["fake"], **grid}
    cases = expand(parse_plan({"sweeps": [values]}, "the plan"))
    return {Path(case.model).name: dict(case.axes) for case in cases}


def test_an_element_type_that_nobody_knows_costs_its_own_row_alone(tmp_path: Path) -> None:
    model = onnx.load(write_add_graph(tmp_path / "sound.onnx"))
    model.graph.input[0].type.tensor_type.elem_type = 99
    onnx.save(model, tmp_path / "type.onnx")
    assert models(tmp_path / "*.onnx") == {"sound.onnx": {}, "type.onnx": {}}


def test_what_is_no_file_costs_its_own_row_and_no_time(tmp_path: Path) -> None:
    write_add_graph(tmp_path / "sound.onnx", ("batch", 3))
    (tmp_path / "folder.onnx").mkdir()
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "nothing.onnx").symlink_to("/dev/zero")
    file_models = models(tmp_path / "*.onnx", batch_size=[4])
    assert file_models.pop("sound.onnx") == {"batch": 4}
    assert file_models == {"folder.onnx": {}, "pipe.onnx": {}, "nothing.onnx": {}}


def test_an_axis_that_one_of_many_files_leaves_open_costs_its_row(tmp_path: Path) -> None:
    write_add_graph(tmp_path / "sound.onnx", ("batch", 3))
    write_add_graph(tmp_path / "open.onnx", ("batch", "classes"))
    assert models(tmp_path / "*.onnx", batch_size=[4]) == {
        "sound.onnx": {"batch": 4},
        "open.onnx": {},
    }
    with pytest.raises(PlanError, match="'classes' of "):
        models(tmp_path / "open.onnx", batch_size=[4])


def test_open_axes_are_given_sizes_and_sums_follow_them(tmp_path: Path) -> None:
    write_add_graph(tmp_path / "a.onnx", ("batch", "past", 8))
    assert models(tmp_path / "a.onnx") == {"a.onnx": {"batch": 1, "past": 128}}
    assert models(tmp_path / "a.onnx", axes={"past": [7]}) == {"a.onnx": {"batch": 1, "past": 7}}


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
    path = str(write_add_graph(tmp_path / "a.onnx", ("batch", "tokens", 8)))
    values = {"models": [path], "runtimes": ["fake"], "axes": {"tokens": [5]}}
    assert sizes_assumed(parse_plan({"sweeps": [values]}, "the plan")) == {path: {"batch": 1}}
    both = {"sweeps": [{**values, "batch_size": [2]}]}
    assert sizes_assumed(parse_plan(both, "the plan")) == {}


def test_a_part_that_one_of_many_files_lacks_costs_its_row(tmp_path: Path) -> None:
    write_add_graph(tmp_path / "add.onnx")
    save_affine(tmp_path / "affine.onnx")
    values = {"models": [str(tmp_path / "*.onnx")], "runtimes": ["fake"], "batch_size": [2]}
    plan = {"sweeps": [values], "from_nodes": ["add"], "to_nodes": ["add"]}
    assert len(expand(parse_plan(plan, "the plan"))) == 2
    with pytest.raises(PlanError, match="no file matches"):
        models(tmp_path / "none*.onnx")


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
