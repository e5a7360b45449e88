"""What is said on the command line is what the plan holds, laid over a suite or a plan file."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite
from app.plan.settings.setting import parsed, size_in_bytes

GIB = 1 << 30


def told(*arguments: str) -> Plan:
    return plan_from_options(parse(arguments))


def refusal(*arguments: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        told(*arguments)
    return caught.value


def test_a_command_says_the_same_as_the_plan_in_its_words(tmp_path: Path) -> None:
    command = (
        "--models mlp,cnn_tiny --runtimes ort-cpu,fake --precision fp32,int8 --batch 1,8 "
        "--axis sequence=4,16 --threads 0,2 --option fake.latency_us=5,10 --option fake.fail=none "
        "--scenario closed_loop,paced:20us --idle-policy sleep --preset standard --seed 3 "
        "--time-limit 90 --memory-limit 8GiB --op-times --largest-batch --accuracy digits "
        "--weights w.safetensors --inputs x.npz --calibration c.npz --from-node a,b --to-node c "
        "--custom-ops a.so,b.so --custom-ops c.so --no-verify-outputs"
    )
    sweep = {
        "models": ["mlp", "cnn_tiny"],
        "runtimes": ["ort-cpu", "fake"],
        "precisions": ["fp32", "int8"],
        "batch_size": [1, 8],
        "axes": {"sequence": [4, 16]},
        "threads": [0, 2],
        "options": {"fake.latency_us": ["5", "10"], "fake.fail": ["none"]},
        "scenarios": ["closed_loop", "paced:20us"],
        "wait_policy": "sleep",
    }
    plan = {
        "sweeps": [sweep],
        "profile": "standard",
        "seed": 3,
        "time_limit_s": 90,
        "memory_limit": "8GiB",
        "profile_ops": True,
        "largest_batch": True,
        "accuracy": "digits",
        "weights": "w.safetensors",
        "inputs": "x.npz",
        "calibration": "c.npz",
        "from_nodes": ["a", "b"],
        "to_nodes": ["c"],
        "custom_ops": ["a.so", "b.so", "c.so"],
        "checked": False,
    }
    assert told(*command.split()) == parse_plan(plan, "test")
    parsed_plan = told("--models", "mlp", "--rounds", "7", "--tolerance", "1e-3")
    assert (parsed_plan.rounds, parsed_plan.tolerance) == (7, 1e-3)


def test_what_is_not_said_is_left_to_the_plan() -> None:
    assert told("--models", "mlp") == parse_plan({"sweeps": [{"models": ["mlp"]}]}, "test")
    assert told("--suite", "starter") == load_suite("starter")


def test_a_flag_replaces_a_suites_list_in_each_of_its_grids_and_nothing_else() -> None:
    suite, plan = load_suite("starter"), told("--suite", "starter", "--batch", "4", "--seed", "9")
    assert len(suite.sweeps) > 1
    assert [sweep.batch_size for sweep in plan.sweeps] == [(4,)] * len(suite.sweeps)
    assert [sweep.scenarios for sweep in plan.sweeps] == [s.scenarios for s in suite.sweeps]
    assert [sweep.models for sweep in plan.sweeps] == [s.models for s in suite.sweeps]
    assert (plan.seed, plan.name) == (9, suite.name)


def test_models_named_beside_a_suite_are_kept_of_it_with_their_grids() -> None:
    plan = told("--suite", "starter", "--models", "mlp")
    assert {sweep.models for sweep in plan.sweeps} == {("mlp",)}
    assert "did you mean 'mlp'?" in str(refusal("--suite", "starter", "--models", "mlpp"))


def test_a_plan_file_is_laid_under_the_flags(tmp_path: Path) -> None:
    path = tmp_path / "nightly.toml"
    path.write_text('rounds = 4\nseed = 5\n[[sweeps]]\nmodels = ["mlp"]\nthreads = [2]\n')
    plan = told("--plan", str(path), "--rounds", "1", "--runtimes", "fake")
    assert (plan.name, plan.lengths.rounds, plan.seed) == ("nightly", 1, 5)
    (sweep,) = plan.sweeps
    assert (sweep.threads, sweep.runtimes) == ((2,), ("fake",))


def test_sizes_are_powers_of_two_and_anything_else_is_refused_with_its_flag() -> None:
    assert size_in_bytes("8GiB") == 8 * GIB
    assert size_in_bytes("512MiB") == GIB // 2
    with pytest.raises(PlanError, match="--cache-limit '8'") as caught:
        parsed(size_in_bytes, "8", "--cache-limit")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--suite", "starter", "--plan", "p.toml"], "two plans"),
        (["--mod", "mlp"], "--mod is not known"),
        (["--models", "mlp", "--option", "fake.fail"], "write it as --option runtime.name=value"),
        (["--models", "mlp", "--scenario", "paced:5"], "paced:5"),
        (["--models", "mlp", "--tolerance", "-1"], "--tolerance -1 is no number"),
        (["--models", "mlp", "--tolerance", "nan"], "--tolerance nan is no number"),
        (["--headless"], "nothing to measure"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_remedy(
    arguments: list[str], sentence: str
) -> None:
    error = refusal(*arguments)
    assert sentence in str(error)
    assert error.remedy
