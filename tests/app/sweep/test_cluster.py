"""What is said of hosts before any of them measures: versions, cores, clocks, what none has."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from app.cases.case import Case
from app.machine.environment import graphlap_version
from app.remote.contract import CarrierError, Host, RuntimeThere
from app.sweep.cluster import _clock, _python, reject_cores, reject_unequal
from app.sweep.scheduling.hosts import RemoteHost
from app.sweep.scheduling.remote_grid import refused_everywhere
from app.sweep.work.base import Needs
from app.sweep.work.round import gpus_of
from runtimes.base import Available, Unavailable


def a_host(**other: object) -> Host:
    host = Host("board", "m", {}, {}, (0, 1), "3.11.7", "0.1.0", time.time_ns())
    return replace(host, **other)  # type: ignore[arg-type]


def test_another_version_is_refused_with_both_named() -> None:
    version = graphlap_version()
    reject_unequal([a_host(graphlap=version)])
    with pytest.raises(
        CarrierError, match=f"board has Graphlap 9.9 and this machine has {version}"
    ):
        reject_unequal([a_host(graphlap="9.9")])
    with pytest.raises(CarrierError, match="two hosts are called board"):
        reject_unequal([a_host(graphlap=version)] * 2)
    with pytest.raises(CarrierError, match="board has the cores 0-1, and --cores names 7"):
        reject_cores([a_host()], (1, 7), False)
    with pytest.raises(CarrierError, match="could hang it"):
        reject_cores([a_host()], (0, 1), True)
    now = time.time_ns()
    assert list(_clock(a_host(utc_ns=now), now - 10**9, now)) == []
    (diagnostic,) = _clock(a_host(utc_ns=now + 3600 * 10**9), now, now)
    assert (diagnostic.code, diagnostic.subject) == ("host_clock_off", "board")
    assert diagnostic.parameters["offset_s"] == pytest.approx(3600.0, abs=1.0)
    (other,) = _python(a_host(python="3.14.2"))
    assert (other.code, other.subject) == ("host_python_differs", "board")
    assert "3.14" in other.parameters.values()


def test_what_no_host_has_is_told_at_once_with_what_each_lacks() -> None:
    lacks = RuntimeThere(reason="openvino is not installed", remedy="pip install openvino")
    case = Case("add.onnx", "openvino-cpu")
    first_host = RemoteHost(a_host(name="one", runtimes={"openvino-cpu": lacks}))
    two = RemoteHost(a_host(name="two"))
    has = RemoteHost(a_host(name="has", runtimes={"openvino-cpu": RuntimeThere("2026.4")}))
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
        (
            "net.py:make",
            False,
            "torch-cpu would run net.py:make on other machines: add --send-code",
        ),
        ("net.py:make", True, ""),
        ("hf:folder", True, "torch-cpu builds hf:folder from a folder of this machine"),
        ("mlp", False, ""),
    ],
)
def test_code_of_the_users_own_goes_only_where_he_says_so(
    model: str, send_code: bool, said: str
) -> None:
    has = RemoteHost(
        a_host(runtimes={"torch-cpu": RuntimeThere("2"), "ort-cpu": RuntimeThere("1")})
    )
    refusal = refused_everywhere(Case(model, "torch-cpu"), [has], send_code)
    assert (refusal is not None) == bool(said)
    assert refusal is None or refusal[1].startswith(said)
    assert refused_everywhere(Case(model, "ort-cpu"), [has], send_code) is None, "a graph alone"


def test_cores_and_devices_are_those_of_the_host() -> None:
    runtime = RuntimeThere("1", devices={"0": "H200", "1": "H200"}, near={"": "0", "1": "4-5"})
    site = RemoteHost(
        a_host(cores=(0, 1, 4, 5), runtimes={"ort-cuda": runtime, "ort-cpu": runtime})
    )
    engine = site.engine("ort-cuda:1")
    assert [device.key for device in engine.devices()] == ["0", "1"]
    assert site.usable(engine, "1") == {4, 5}
    assert site.usable(engine, "") == {0}
    assert site.exclusive_resources(engine, "1") == {"cpu@m", "gpu:1@m"}
    assert gpus_of(Needs(site.exclusive_resources(engine, "1"))) == (1,)
    assert isinstance(site.availability("ort-cuda:7"), Unavailable)
    both = site.engine("ort-cuda:0+1")
    assert site.exclusive_resources(both, "0+1") == {"cpu@m", "gpu:0@m", "gpu:1@m"}
    assert site.usable(both, "0+1") == {0, 1, 4, 5}, "one of them has no node of its own"
    assert isinstance(site.availability("ort-cuda:0+1"), Available)
    assert isinstance(site.availability("ort-cuda:0+7"), Unavailable), "it has one of them"
    assert site.shares((0, 1, 4, 5, 6))
    assert not site.shares((0, 1))
