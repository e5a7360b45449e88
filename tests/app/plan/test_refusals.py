"""Words and values that no run can keep: refused in one sentence with a remedy, nothing written."""

from __future__ import annotations

import math
import shlex
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import EMPTY, checked, parse_plan
from app.plan.runtime_options import with_search_values

GRID = {"models": ["mlp"], "runtimes": ["fake"]}

FLAGS = [
    ("--suite starter --plan p.toml", "two plans"),
    ("--suite starter --models mlpp", "did you mean 'mlp'?"),
    ("--option fake.latency_us=inf", "latency_us"),
    ("--scenario paced:5", "paced:5"),
    ("--tolerance=-1", "--tolerance -1 is no number"),
    ("--input-range x=-1.7e308:1.7e308", "x"),
    ("--max-error 1e99999999999999999999%", "--max-error"),
    ("--ci-width p50", "write it as --ci-width p50=1%,p99=10%"),
    (f"--time-limit 0.{'0' * 400}1", "--time-limit"),
    (f"--rounds {'9' * 5000}", "--rounds"),
    ("--inputs '~nobody-at-all/x.npz'", "~nobody-at-all"),
    ("--condition warm", "--condition 'warm' is not known: use none, cold:64MB"),
    ("--idle-sweep 20..30", "is no range of gaps: write it like 20us..1s"),
    ("--scenario rate:9/s --batcher max=8", "use none"),
    ("--runtimes fpga --replicas 2", "fpga can't run several sessions at once"),
    ("--option fake.sessions=2 --replicas 2", "both set the number of sessions"),
    *((f"--replicas {word}", "replicas") for word in ("0", "65", "2.5", "two")),
    ("--runtimes fake:0+1 --replicas 3", "is 2 devices, and 3 sessions"),
    ("--runtimes fake:0+9", "fake has no device '9'"),
    ("--runtimes fpga:v80+v80", "several simulated cards"),
    ("--runtimes fake:0+1 --tune p99", "tune searches the options of one device"),
    ("--runtimes fake,ort-cpu --baseline ort-cp", "did you mean 'ort-cpu'"),
    ("--runtimes fake,ort-cpu --baseline @old", "'@old' is no case of this plan"),
    ("--models mlp,cnn_tiny_seq --batch 1 --baseline mlp", "in that alone"),
    ("--models 'null(mlp)'", "null(mlp)"),
    ("--runtimes fake@a --python 'a b=python'", "is not valid"),
]
"""Laid over a plan of the model `mlp` on the runtime `fake`."""

OF_GRID: list[tuple[dict[str, Any], str]] = [
    ({"batchsize": [1]}, "did you mean 'batch_size'?"),
    *(({"batch_size": [value]}, "batch_size") for value in (0, -1, "x", 1.5, True)),
    ({"axes": {"height": [-1]}}, "height"),
    ({"axes": {"bach": [1]}}, "did you mean 'batch'"),
    ({"sequence_length": [4]}, "sequence axis"),
    ({"runtimes": ["ort-cpu"], "precisions": ["fp16"]}, "computes fp16 graphs in fp32"),
    ({"scenarios": ["rate:9/s"]}, "rate:9/s brings 4.5 requests"),
    ({"wait_policy": "doze"}, "idle_policy"),
    ({"models": []}, "models"),
    ({"models": ["cnn_tinny"]}, "did you mean 'cnn_tiny'"),
    *(({"models": [name]}, "models") for name in ("a\0.onnx", "f.py:f\0", "hf:a\0", "\0")),
    ({"runtimes": ["ort-cpu:1"]}, "has no device '1': write ort-cpu alone"),
    ({"runtimes": ["ort-cpu@2"]}, "there is no environment called '2'"),
    ({"runtimes": ["fpga:v8"]}, "the nearest is 'v80'"),
    ({"runtimes": ["tensorrt-rtx:sm89"]}, "add --check"),
    ({"runtimes": ["ort-ep"]}, "none is named: write ort-ep:"),
    ({"runtimes": ["ort-ep:/gone.so"]}, "there is no file /gone.so"),
    ({"runtimes": ["ort-ep:onnxruntime-ep-x"]}, "did you mean onnxruntime_ep_x"),
    ({"runtimes": ["ort-ep:numpy"], "options": {"ort-ep.device": ["tpu"]}}, "npu"),
    ({"options": {"fake.latency": [1]}}, "did you mean 'latency_us'"),
    ({"options": {"fail": ["none"]}}, "names no runtime"),
    ({"options": {"ort-cpu.memory_arena": [True]}}, "not measured"),
    ({"options": {"fake.latency_us": ["a; b: c"]}}, "a; b: c"),
    ({"conditions": []}, "conditions is empty"),
    ({"conditions": ["cold:1MB"], "scenarios": ["rate:200/s"]}, "rate has no pauses"),
    ({"conditions": ["cold:900TB"]}, "more than a quarter of this machine's memory: use"),
    ({"conditions": ["with:mlpp"]}, "did you mean"),
]

BATCHED = {"batcher": ["max=8,wait=2ms"], "scenarios": ["poisson:200/s"]}

OF_GRID += [
    ({**BATCHED, "scenarios": ["closed_loop"]}, "closed_loop waits for answers"),
    ({**BATCHED, "batch_size": [4]}, "the batch is 4: remove --batch, or make it 1"),
    ({**BATCHED, "options": {"fake.sessions": [1, 2]}}, "one server, and fake.sessions makes"),
]

OF_PLAN: list[tuple[dict[str, Any], str]] = [
    ({"seeed": 1}, "did you mean 'seed'?"),
    ({"profile": "quik"}, "did you mean 'quick'?"),
    ({"sweeps": []}, "sweeps"),
    ({"name": "../elsewhere"}, "name"),
    *(({"deadline_us": value}, "deadline") for value in (0, -1.0, "100us")),
    ({"cores": "2-"}, "'2-' is no list of cores: write it as 2,3 or 2-5"),
    ({"realtime": 0}, "realtime = 0 is not valid"),
    ({"tune": "fast"}, "'fast' is no goal"),
    ({"tune": "throughput@p99=0ms"}, "leaves no time"),
    ({"tune": "p99", "sweeps": [{**GRID, "runtimes": ["fake", "fpga:v80"]}]}, "is simulated"),
    ({"slo": "p99"}, "slo 'p99' is no target"),
    ({"precise": {"p97": 0.01}}, "precise p97 is no percentile of the rows"),
    ({"precise": {"p50": 0}}, "precise p50=0 is no share"),
    ({"percentiles": [50, 99, 50]}, "percentile 50 is given twice"),
    ({"percentiles": [99.999999]}, "more than 100,000,000 independent runs"),
    ({"check": True, "sweeps": [{**GRID, "conditions": ["cold:64MB"]}]}, "--condition cannot"),
    (
        {"input_range": {"x": [0, 1]}, "sweeps": [{**GRID, "conditions": ["with:mlp"]}]},
        "the files or nodes apply to all models: remove your files",
    ),
    *(
        ({key: "a\0b"}, key)
        for key in ("name", "weights", "inputs", "calibration", "accuracy", "baseline", "slo")
    ),
    ({"cluster": "a\0b"}, "cluster"),
    ({"environments": {"spring": "a\0b"}}, "spring"),
    ({"states": {"a\0b": "c"}}, "NUL"),
]

NUMBERS: list[Any] = [
    lambda end, key=key: {key: end}
    for key in ("time_limit_s", "budget_s", "deadline_us", "max_error", "tolerance", "band")
]
NUMBERS += [
    lambda end: {"percentiles": [50, end]},
    lambda end: {"precise": {"p50": end}},
    lambda end: {"input_range": {"x": [0, end]}},
    lambda end: {"sweeps": [{**GRID, "options": {"fake.latency_us": [1.0, end]}}]},
]


def refused(error: PlanError, said: str) -> None:
    text = str(error)
    assert said in text
    assert "\n" not in text and "\0" not in text
    assert error.cause and error.remedy


@pytest.mark.parametrize(("flags", "said"), FLAGS, ids=lambda text: text[:50])
def test_words_of_a_command_are_refused(flags: str, said: str) -> None:
    words = shlex.split(f"--headless {flags}")
    for flag, value in ({"--models": "mlp", "--runtimes": "fake"}).items():
        words += [] if flag in words or "--suite" in words else [flag, value]
    with pytest.raises(PlanError) as exc_info:
        expand(with_search_values(plan_from_options(parse(words))))
    refused(exc_info.value, said)


@pytest.mark.parametrize(
    ("values", "said"),
    [*(({"sweeps": [{**GRID, **grid}]}, said) for grid, said in OF_GRID), *OF_PLAN],
    ids=str,
)
def test_values_of_a_plan_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as exc_info:
        plan = parse_plan({"profile": "brief", "sweeps": [GRID], **values}, "the plan")
        expand(with_search_values(plan))
    refused(exc_info.value, said)


@pytest.mark.parametrize("end", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("values", NUMBERS)
def test_a_number_that_is_not_finite_is_refused(values: Any, end: float) -> None:
    with pytest.raises(PlanError) as exc_info:
        parse_plan({"sweeps": [GRID], **values(end)}, "the plan")
    refused(exc_info.value, "")


def test_an_empty_draft_is_no_plan_and_says_what_is_missing() -> None:
    with pytest.raises(PlanError, match="models"):
        checked(EMPTY)
