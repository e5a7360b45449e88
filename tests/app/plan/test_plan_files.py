"""A plan file is read within bounds, and what is wrong with it is one sentence and exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.axis_sizes import read_shapes
from app.plan.plan_files import load_plan, plan_toml

GRID = '[[sweeps]]\nmodels = ["mlp"]\nruntimes = ["fake"]\n'


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my plan.toml", "my-plan"),
        ("plän.toml", "plan"),
        (".hid.toml", "hid"),
        ("_a_.toml", "a"),
        ("計画.toml", "plan"),
        ("ok-1.2.toml", "ok-1.2"),
    ],
)
def test_a_file_of_any_name_gives_its_plan_a_valid_one(
    file: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(GRID, "utf-8")
    plan = load_plan(tmp_path / file)
    assert plan.name == name
    (tmp_path / "again.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "again.toml") == plan


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    large = tmp_path / "large.toml"
    large.touch()
    os.truncate(large, 1 << 40)
    for name in ("pipe.toml", "zero.toml", "folder.toml", "large.toml", "absent.toml", "a\0.toml"):
        for read in (load_plan, lambda path: read_shapes(str(path))):
            with pytest.raises(PlanError) as exc_info:
                read(tmp_path / name)
            assert exc_info.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "[[sweeps]\n",
        f"rounds = {'9' * 5000}",
        f"{'a.' * 20_000}b = 1",
        f"options = {{'fake.x' = [0x{'f' * 5000}]}}",
        f"x = {'[' * 100_000}",
        f"x = {'{a=' * 50_000}",
        'name = "a',
        "\x00",
    ],
)
def test_what_would_take_all_time_or_memory_is_refused_in_one_sentence(
    text: str, tmp_path: Path
) -> None:
    grid = f"{GRID}{text}" if text.startswith("options") else f"{text}\n{GRID}"
    path = tmp_path / "plan.toml"
    for content in (grid.encode(), b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(PlanError, match=r"plan\.toml") as exc_info:
            load_plan(path)
        assert exc_info.value.remedy and "\n" not in str(exc_info.value)


def test_dots_in_a_text_are_no_parts_of_a_key(tmp_path: Path) -> None:
    many = "a." * 100 + "onnx"
    text = f"[[sweeps]]\nmodels = ['{many}', \"{many}\", '''{many}''']  # {many}\n"
    (tmp_path / "plan.toml").write_text(text, "utf-8")
    assert load_plan(tmp_path / "plan.toml").sweeps[0].models == (many, many, many)


def test_a_long_cell_in_a_file_of_shapes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shapes.csv").write_text(f"batch\n{'1' * 200_000}\n")
    with pytest.raises(PlanError) as exc_info:
        read_shapes(str(tmp_path / "shapes.csv"))
    assert exc_info.value.remedy and "\n" not in str(exc_info.value)
