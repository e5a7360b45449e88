"""A plan file is read within bounds, and what is wrong with it is one sentence and exit code 2."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.plan.axis_sizes import read_shapes
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import parse_plan
from app.plan.plan_files import load_plan, plan_toml
from tests.app.headless.batch import run

SWEEP = {"models": ["mlp"], "runtimes": ["fake"]}
GRID = '[[sweeps]]\nmodels = ["mlp"]\nruntimes = ["fake"]\n'


def one_sentence(error: PlanError) -> bool:
    return bool(error.cause and error.remedy) and "\n" not in str(error) and "\0" not in str(error)


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
        with pytest.raises(PlanError) as exc_info:
            load_plan(tmp_path / name)
        assert exc_info.value.remedy
        with pytest.raises(PlanError) as exc_info:
            read_shapes(str(tmp_path / name))
        assert exc_info.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        f"rounds = {'9' * 5000}",
        f"rounds = 0x{'f' * 5000}",
        f"seed = 0b{'1' * 20_000}",
        f"{'a.' * 20_000}b = 1",
        f"[{'a . ' * 20_000}b]",
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
    (tmp_path / "plan.toml").write_text(grid, "utf-8")
    with pytest.raises(PlanError) as exc_info:
        load_plan(tmp_path / "plan.toml")
    assert one_sentence(exc_info.value)


def test_dots_in_a_text_are_no_parts_of_a_key(tmp_path: Path) -> None:
    many = "a." * 100 + "onnx"
    text = f"[[sweeps]]\nmodels = ['{many}', \"{many}\", '''{many}''']  # {many}\n"
    (tmp_path / "plan.toml").write_text(text, "utf-8")
    assert load_plan(tmp_path / "plan.toml").sweeps[0].models == (many, many, many)


TEXTS: list[dict[str, Any]] = [
    {key: "a\0b"}
    for key in (
        "name",
        "weights",
        "inputs",
        "calibration",
        "accuracy",
        "baseline",
        "slo",
        "cluster",
    )
] + [
    {"custom_ops": ["a\0b"]},
    {"from_nodes": ["a\0b"]},
    {"environments": {"spring": "a\0b"}},
    {"states": {"a\0b": "c"}},
    {"input_range": {"a\0b": [0, 1]}},
    *({"sweeps": [{**SWEEP, "models": [m]}]} for m in ("a\0.onnx", "f.py:f\0", "hf:a\0", "\0")),
    {"sweeps": [{**SWEEP, "runtimes": ["fpga:a\0.toml"]}]},
    {"sweeps": [{**SWEEP, "options": {"fake.fail": ["a\0"]}}]},
    {"sweeps": [{**SWEEP, "conditions": ["shapes:a\0"]}]},
    {"sweeps": [{**SWEEP, "conditions": ["with:a\0"]}]},
    {"sweeps": [{**SWEEP, "axes": {"a\0": [1]}}]},
]


@pytest.mark.parametrize("values", TEXTS, ids=str)
def test_a_nul_in_any_text_is_refused_in_one_sentence(values: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as exc_info:
        expand(parse_plan({"sweeps": [SWEEP], **values}, "the plan"))
    assert one_sentence(exc_info.value)


@pytest.mark.parametrize("end", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("key", ["time_limit_s", "budget_s", "deadline_us", "max_error",
                                 "tolerance", "band", "percentiles", "precise", "input_range",
                                 "options"])  # fmt: skip
def test_a_number_that_is_not_finite_is_refused(key: str, end: float) -> None:
    values: dict[str, Any] = {
        "percentiles": [50, end],
        "precise": {"p50": end},
        "input_range": {"x": [0, end]},
        "options": {},
    }
    grid = {**SWEEP, "options": {"fake.latency_us": [1.0, end]}} if key == "options" else SWEEP
    plan_values = {} if key == "options" else {key: values.get(key, end)}
    with pytest.raises(PlanError) as exc_info:
        parse_plan({"sweeps": [grid], **plan_values}, "the plan")
    assert one_sentence(exc_info.value)


@pytest.mark.parametrize(
    "flags",
    [
        ("--input-range", "x=0:inf"),
        ("--input-range", "x=nan:1"),
        ("--input-range", "x=-1.7e308:1.7e308"),
        ("--option", "fake.latency_us=inf"),
        ("--option", "fake.latency_us=1,nan"),
        ("--tolerance", "inf"),
        ("--tolerance", "nan"),
        ("--threshold", "nan%"),
        ("--max-error", "1e99999999999999999999%"),
        ("--percentiles", "1e-13"),
        ("--percentiles", "99.9999999999999"),
        ("--percentiles", "nan"),
        ("--percentiles", "inf"),
        ("--ci-width", "p50=nan%"),
        ("--deadline", f"{'9' * 400}us"),
        ("--time-limit", f"0.{'0' * 400}1"),
        ("--memory-limit", f"{'9' * 5000}GiB"),
        ("--rounds", "9" * 5000),
        ("--seed", "9" * 5000),
        ("--cores", "9" * 5000),
        ("--scenario", f"multistream:{'9' * 5000}"),
        ("--inputs", "~nobody-at-all/x.npz"),
        ("--inputs", "x" * 5000),
        ("--weights", "x" * 5000),
        ("--condition", f"shapes:{'x' * 5000}"),
        ("--condition", "shapes:~nobody-at-all/x.csv"),
    ],
    ids=lambda flags: " ".join(flags)[:40],
)
def test_numbers_and_names_that_mean_nothing_are_refused(flags: tuple[str, str]) -> None:
    words = ["--headless", "--models", "mlp", "--runtimes", "fake", *flags]
    with pytest.raises(PlanError) as exc_info:
        expand(plan_from_options(parse(words)))
    assert one_sentence(exc_info.value)


def test_a_long_cell_in_a_file_of_shapes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shapes.csv").write_text(f"batch\n{'1' * 200_000}\n")
    with pytest.raises(PlanError) as exc_info:
        read_shapes(str(tmp_path / "shapes.csv"))
    assert one_sentence(exc_info.value)


def test_a_bad_plan_is_exit_code_2_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(f'inputs = "a\\u0000b"\n{GRID}', "utf-8")
    out = tmp_path / "run"
    code, _, errors = run("--headless", "--plan", str(tmp_path / "plan.toml"), "--out", str(out))
    assert code == 2
    assert "Traceback" not in errors
    assert not out.exists()
