"""Every setting of a plan survives a plan file and the command that is copied."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.cases.errors import PlanError
from app.cases.setting import Setting, Switch, field_text, field_value, flag_words
from app.plan.command import command_line
from app.plan.command_line import add_settings, explicit_settings, parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan, plan_of_file
from app.plan.plan_files import load_plan, plan_toml
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import PLAN_SETTINGS, SETTINGS, SWEEP_SETTINGS, default_of
from exporters import install_layout
from exporters.types import GraphlapError
from tests.app.plan import samples

Values = dict[str, st.SearchStrategy[Any]]

TEXT = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.text("=,:;.\"'\\ \n\t[]{}#é漢\x7f\u2028", max_size=8),
)
NAMES = TEXT.filter(bool)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SHARES = st.one_of(st.floats(1e-9, 0.999), st.integers(1, 99).map(lambda n: n / 100))
SECONDS = st.one_of(st.floats(1e-3, 3e7), st.integers(1, 10**7))
US = st.floats(1e-3, 24 * 3600e6)
SIZES = st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=3, unique=True)
GAPS = st.decimals(0, 86400, places=6).map(lambda s: f"paced:{s}s")
FINE_GAPS = st.decimals(0, 10**6, places=4).map(lambda us: f"paced:{us}us")
RATES = st.decimals(1, 10**6, places=6).map(lambda hz: f"rate:{hz}/s")
VALUES = st.one_of(st.booleans(), st.integers(-(2**63), 2**64 - 1), FLOATS, TEXT)
MEMORY = st.decimals(1, 1000, places=3).map(lambda n: f"{n}GiB")

OF_GRID: Values = {
    "models": st.lists(NAMES, min_size=1, max_size=3),
    "runtimes": st.lists(NAMES, max_size=2),
    "precisions": st.lists(st.sampled_from(["fp32", "fp16", "int8"]), min_size=1, unique=True),
    "batch_size": SIZES,
    "sequence_length": SIZES,
    "axes": st.dictionaries(NAMES, SIZES, max_size=2),
    "threads": st.lists(st.integers(0, 4096), min_size=1, max_size=2),
    "options": st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=3), max_size=2),
    "scenarios": st.lists(st.one_of(GAPS, FINE_GAPS, RATES), min_size=1, max_size=3),
    "wait_policy": st.sampled_from(["hybrid", "sleep"]),
    "conditions": st.lists(
        st.one_of(
            NAMES.map(lambda name: f"with:{name}"),
            st.integers(4096, 10**12).map(lambda size: f"cold:{size}B"),
            st.floats(1, 6e5).map(lambda s: f"sustained:{s}s"),
        ),
        min_size=1,
        max_size=2,
    ),
    "batcher": st.lists(
        st.integers(0, 10**10).map(lambda ns: f"max=8,wait={ns / 1000:.3f}us"),
        min_size=1,
        max_size=2,
    ),
    "replicas": st.lists(st.integers(1, 64), max_size=2),
}
OF_PLAN: Values = {
    **{key: st.just(value) for key, value in samples.PLAN.items()},
    "name": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    "rounds": st.integers(1, 10_000),
    "budget_s": SECONDS,
    "accuracy": TEXT,
    "slo": st.builds("p{}={}us".format, st.decimals(50, "99.99", places=5), st.integers(1, 10**9)),
    "tune": st.sampled_from(["p99", "mean", "throughput", "throughput@p99.5=1234567.25us"]),
    "memory_limit": MEMORY,
    "cores": st.sampled_from(["0", "2-5,8", "0,2"]),
    "inputs": st.lists(NAMES, max_size=2),
    "input_range": st.dictionaries(
        NAMES, st.tuples(st.floats(-1e300, 0), st.floats(0, 1e300)), max_size=2
    ),
    "states": st.dictionaries(NAMES, NAMES, max_size=2),
    "tolerance": st.floats(0, 1e6),
    "baseline": TEXT,
    "band": SHARES,
    "judge": st.lists(
        st.sampled_from(["p50", "p99.9", "mean", "throughput"]), min_size=1, unique=True
    ),
    "percentiles": st.lists(
        st.decimals(1, "99.99", places=7).map(float), min_size=1, max_size=3, unique=True
    ),
    "precise": st.dictionaries(st.sampled_from(["p50", "p99.9"]), SHARES, max_size=2),
    "deadline_us": US,
    "environments": st.dictionaries(st.just("spring"), TEXT, max_size=1),
}


def _some(values: Values, most: int) -> st.SearchStrategy[dict[str, Any]]:
    """A few of these settings at a time."""
    names = st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True)
    return names.flatmap(lambda keys: st.fixed_dictionaries({name: values[name] for name in keys}))


def test_every_setting_is_drawn() -> None:
    assert set(OF_GRID) == {row.key for row in SWEEP_SETTINGS} == set(Sweep.model_fields)
    assert set(OF_PLAN) == {row.key for row in PLAN_SETTINGS} | {"name"}
    assert set(OF_PLAN) | {"sweeps"} == set(Plan.model_fields)


@pytest.mark.parametrize("row", [*PLAN_SETTINGS, *SWEEP_SETTINGS], ids=lambda row: row.key)
def test_each_setting_survives_its_flag_every_spelling_a_field_and_a_file(row: Setting) -> None:
    """Over the table: words are read as the value that they were written for, by each command."""
    sample = {**samples.PLAN, **samples.SWEEP}[row.key]
    plan = parse_plan(_make_plan(row, row.key, sample), "test")
    value = getattr(plan if row.scope == "plan" else plan.sweeps[0], row.key)
    assert value != default_of(row)
    words = list(flag_words(row.flag, row.form, value))
    for command in row.commands:
        parser = argparse.ArgumentParser()
        add_settings(parser, command)
        values = explicit_settings(parser.parse_args(words), row.scope)
        assert parse_plan(_make_plan(row, row.key, values[row.key]), "test") == plan
    if not isinstance(row.form, Switch):
        read = field_value(row.form, field_text(row.form, value), row.flag)
        assert parse_plan(_make_plan(row, row.key, read), "test") == plan
    assert plan_of_file(_make_plan(row, row.name, sample), "test") == plan
    assert plan_of_file(tomllib.loads(plan_toml(plan)), "test") == plan


def _make_plan(row: Setting, name: str, value: Any) -> dict[str, Any]:
    """A plan with the value of this setting, by its key or by its name in files."""
    grid: dict[str, Any] = {"models": ["mlp"]}
    if row.scope == "sweep":
        return {"sweeps": [{**grid, name: value}]}
    return {"sweeps": [grid], name: value}


@pytest.mark.parametrize("row", [row for row in SETTINGS if row.toml], ids=lambda row: row.key)
def test_a_file_has_one_name_for_a_setting(row: Setting) -> None:
    sample = {**samples.PLAN, **samples.SWEEP}[row.key]
    with pytest.raises(PlanError) as exc_info:
        plan_of_file(_make_plan(row, row.key, sample), "test")
    assert row.name in exc_info.value.remedy


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=_some(OF_PLAN, 8),
    grids=st.lists(st.tuples(OF_GRID["models"], _some(OF_GRID, 6)), min_size=1, max_size=2),
)
def test_all_settings_survive_a_plan_file(
    plan: dict[str, Any], grids: list[tuple[list[str], dict[str, Any]]], tmp_path: Path
) -> None:
    sweeps = [{"models": models, **grid} for models, grid in grids]
    try:
        read = parse_plan({**plan, "sweeps": sweeps}, "test")
    except PlanError:
        return  # settings that contradict each other
    (tmp_path / "p.toml").write_text(plan_toml(read), "utf-8")
    again = load_plan(tmp_path / "p.toml")
    assert again == read
    assert repr(again) == repr(read), "1, 1.0 and True are equal and not the same"


SAID = {
    "models": st.sampled_from([["mlp"], ["lstm_tiny_seq", "mlp"]]),
    "sequence_length": st.just([4, 16]),
    "options": st.sampled_from(
        [{"fake.latency_us": [1e-07, 1234567.125]}, {"fake.fail": ["none", "crash"]}]
    ),
    "runtimes": st.just(["fake"]),
    "batch_size": st.just([1, 2]),
    "threads": OF_GRID["threads"],
    "scenarios": st.lists(st.one_of(GAPS, FINE_GAPS), min_size=1, max_size=3, unique=True),
    "wait_policy": OF_GRID["wait_policy"],
    "conditions": st.sampled_from([["cold:4097B"], ["sustained:1.0625s"], ["none", "with:mlp"]]),
}
"""What a grid of these models can have, so that the plan has cases."""


def _again(plan: Plan, folder: Path) -> tuple[Plan, list[str]]:
    line = command_line(plan, folder).removeprefix(f"{install_layout.PROGRAM} ")
    words = _words(line)
    return plan_from_options(parse(words)), words


def _words(line: str) -> list[str]:
    """As a shell makes them, where some stand in its `$'…'`."""
    if "$'" not in line:
        return shlex.split(line)
    command = ["bash", "-c", f"printf '%s\\0' {line}"]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return [os.fsdecode(word) for word in output.split(b"\0")[:-1]]


def _ids(plan: Plan) -> list[str] | None:
    try:
        return [case.case_id for case in expand(plan)]
    except GraphlapError:
        return None


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=_some({k: v for k, v in OF_PLAN.items() if k not in ("name", "cluster")}, 4),
       grids=st.lists(_some(SAID, 4), min_size=1, max_size=2))  # fmt: skip
def test_all_settings_survive_the_command(
    plan: dict[str, Any], grids: list[dict[str, Any]], tmp_path: Path
) -> None:
    sweeps = [{"models": ["mlp"], "runtimes": ["fake"], **grid} for grid in grids]
    try:
        read = parse_plan({**plan, "name": "sweep", "sweeps": sweeps}, "test")
    except PlanError:
        return
    again, _ = _again(read, tmp_path)
    exceptions = {"name", "sweeps"}
    assert again.model_dump(exclude=exceptions) == read.model_dump(exclude=exceptions)
    assert _ids(again) == _ids(read)
