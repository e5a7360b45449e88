"""What is said of hosts before any of them measures: versions, cores, clocks, what none has."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from app.cases.case import Case
from app.sweep.remote.carriers import _parsed
from app.sweep.remote.host import Host, RuntimeThere
from app.sweep.remote.link import HostError
from app.sweep.scheduling.shares import comparison_groups, refused_everywhere, reject_cores
from exporters.codec import to_json


def a_host(**other: object) -> Host:
    host = Host("board", "m", {}, {}, (0, 1), time.time_ns())
    return replace(host, **other)  # type: ignore[arg-type]


def test_cores_that_a_host_lacks_are_refused_and_a_clock_that_is_off_is_told() -> None:
    with pytest.raises(HostError, match="board has the cores 0-1, and --cores names 7"):
        reject_cores([a_host()], (1, 7), False)
    with pytest.raises(HostError, match="could hang it"):
        reject_cores([a_host()], (0, 1), True)
    now = time.time_ns()
    for offset_s in (0, 3600, -3600):
        values = to_json(a_host(utc_ns=now + offset_s * 10**9))
        found = _parsed("board", values, now - 10**9).clock_off_s
        assert found == pytest.approx(offset_s, abs=1.5)


def test_what_no_host_has_is_told_at_once_with_what_each_lacks() -> None:
    lacks = RuntimeThere(reason="openvino is not installed", remedy="pip install openvino")
    case = Case("add.onnx", "openvino-cpu")
    first_host = a_host(name="one", runtimes={"openvino-cpu": lacks})
    two = a_host(name="two")
    has = a_host(name="has", runtimes={"openvino-cpu": RuntimeThere("2026.4")})
    assert refused_everywhere(case, [first_host, two, has], False) is None
    status, reason = refused_everywhere(case, [first_host, two], False) or ("", "")
    assert status == "unavailable"
    assert reason == (
        "no host has openvino-cpu (one: openvino is not installed; two: it is not known there): "
        "pip install openvino"
    )
    missing_case = replace(case, host="three")
    status, reason = refused_everywhere(missing_case, [first_host, has], False) or ("", "")
    assert (status, reason[:37]) == ("cancelled", "three is not in the cluster: resume t")


@pytest.mark.parametrize(
    ("model", "send_code", "said"),
    [
        ("net.py:make", False, "torch-cpu would run net.py:make on other machines: add --send-"),
        ("net.py:make", True, ""),
        ("hf:folder", True, "torch-cpu builds hf:folder from a folder of this machine"),
        ("mlp", False, ""),
    ],
)
def test_code_of_the_users_own_goes_only_where_he_says_so(
    model: str, send_code: bool, said: str
) -> None:
    has = a_host(runtimes={"torch-cpu": RuntimeThere("2"), "ort-cpu": RuntimeThere("1")})
    refusal = refused_everywhere(Case(model, "torch-cpu"), [has], send_code)
    assert (refusal is not None) == bool(said)
    assert refusal is None or refusal[1].startswith(said)
    assert refused_everywhere(Case(model, "ort-cpu"), [has], send_code) is None, "a graph alone"


def test_devices_are_those_of_the_host() -> None:
    there = RuntimeThere("1", devices={"0": "H200", "1": "H200"})
    host = a_host(runtimes={"ort-cuda": there})
    for spec in ("ort-cuda", "ort-cuda:1", "ort-cuda:0+1"):
        assert host.has(spec), spec
    for spec in ("ort-cuda:7", "ort-cuda:0+7", "ort-cpu"):
        assert not host.has(spec), spec


def test_a_model_goes_with_its_twin_its_baseline_and_all_of_its_host() -> None:
    new, old, twin, other = (Case(name, "ort-cpu") for name in ("new", "old", "null(new)", "mlp"))
    cases = [new, old, twin, other]
    groups = [sorted(case.model for case in group) for group in comparison_groups(cases, "")]
    assert sorted(groups) == [["mlp"], ["new", "null(new)"], ["old"]]
    (group,) = comparison_groups(cases, "old")
    assert len(group) == 4, "each other model is compared with it"
    hosted = [replace(case, host=host) for host in ("a", "b") for case in (new, other)]
    assert [{case.host for case in group} for group in comparison_groups(hosted, "")] == [
        {"a"},
        {"b"},
    ]
