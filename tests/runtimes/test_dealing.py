"""Several devices behind one name: who has which session, and what can't be dealt."""

from __future__ import annotations

import pytest

from exporters.diagnostics import diagnostic
from runtimes import registry
from runtimes.base import Checked, Runtime, Session
from runtimes.errors import NotAvailable, RuntimeFault, Unsupported
from runtimes.execution import Memory
from runtimes.fake import Fake, FakeSession
from runtimes.options import OptionValue, Settings, sessions_of
from runtimes.session.session_group import (
    Several,
    check_availability,
    check_sessions,
    compile_sessions,
    each,
    options_on,
    refuse_sessions,
)
from tests.runtimes.graphs import Graphs


def devices_of(runtime: Runtime, device: str, **options: OptionValue) -> list[str]:
    return [session.device for session in each(runtime, Settings(device=device, options=options))]


@pytest.mark.parametrize(
    ("name", "text", "devices"),
    [
        ("ort-cuda", "0+1", ("0", "1")),
        ("tensorrt", "1+0+3", ("1", "0", "3")),
        ("torch-cuda", "", ("",)),
        ("openvino", "GPU.0+GPU.1", ("GPU.0", "GPU.1")),
        ("openvino", "MULTI:GPU+CPU", ("MULTI:GPU+CPU",)),
        ("ort-ep", "/opt/a+b/ep.so", ("/opt/a+b/ep.so",)),
        ("fpga", "/cards/a+b.toml", ("/cards/a+b.toml",)),
    ],
)
def test_a_plus_deals_sessions_where_it_is_no_other_sign(
    name: str, text: str, devices: tuple[str, ...]
) -> None:
    assert registry.load(name).devices_in(text) == devices


def test_there_is_a_session_on_each_unless_more_are_asked_for() -> None:
    runtime = Fake()
    assert sessions_of(options_on(runtime, "0+1+2"), {}) == 3
    assert sessions_of(options_on(runtime, "0+1"), {"sessions": 4}) == 4
    assert sessions_of(options_on(runtime, "1"), {}) == 1
    assert devices_of(runtime, "2+0") == ["2", "0"]
    assert devices_of(runtime, "2+0", sessions=4) == ["2", "0"]


@pytest.mark.parametrize(
    ("device", "options", "kind", "said"),
    [
        ("0+1", {"sessions": 1}, Unsupported, "is 2 devices, and 1 session can't be dealt evenly"),
        ("0+0", {}, NotAvailable, "fake:0[+]0 names a device twice: name each once"),
        ("0+", {}, NotAvailable, "names no device next to a +"),
        ("0+7", {}, NotAvailable, "fake has no device '7'"),
    ],
)
def test_what_can_not_be_dealt_is_one_sentence(
    graphs: Graphs,
    device: str,
    options: dict[str, OptionValue],
    kind: type[RuntimeFault],
    said: str,
) -> None:
    settings, open_before = Settings(device=device, options=options), FakeSession.open
    with pytest.raises(kind, match=said):
        refuse_sessions(Fake(), graphs.dense, {"batch": 1}, settings)
    with pytest.raises(kind, match=said):
        compile_sessions(Fake(), graphs.dense, {"batch": 1}, settings)
    assert FakeSession.open == open_before


def test_cards_are_not_dealt_over() -> None:
    with pytest.raises(NotAvailable, match=r"several simulated cards.*: name each by itself"):
        registry.load("fpga").refuse_device("v80+v80", "")


class Recording(Fake):
    """Remembers for which devices it compiled, and calls the second one absent for checks."""

    def __init__(self) -> None:
        self.compiled: list[str] = []

    def _compile(self, request: object) -> Session:
        self.compiled.append(request.settings.device)  # type: ignore[attr-defined]
        return super()._compile(request)  # type: ignore[arg-type]

    def cores_near(self, device: str) -> str:
        return {"0": "0-3", "1": "8-11"}.get(device, "")


def compiled(runtime: Runtime, graphs: Graphs, device: str, **options: OptionValue) -> Session:
    settings = Settings(device=device, options=options)
    return compile_sessions(runtime, graphs.dense, {"batch": 1}, settings)


def test_sessions_are_dealt_in_turn_and_a_device_is_named_as_it_calls_itself(
    graphs: Graphs,
) -> None:
    runtime = Recording()
    with compiled(runtime, graphs, "1+0", sessions=4) as session:
        assert len(session.lanes) == 4
        assert session.execution.device_name == "fake"
        assert session.execution.warnings == ()
    assert runtime.compiled == ["1", "0", "1", "0"]


def test_devices_that_differ_are_warned_of(graphs: Graphs) -> None:
    with compiled(Fake(), graphs, "0+2") as session:
        assert session.execution.device_name == "fake + another fake"
        (warning,) = session.execution.warnings
    assert warning == diagnostic("devices_differ", devices=("fake", "another fake"))


@pytest.mark.parametrize(("of_process", "total"), [(False, 1 + 2 + 3 + 4), (True, 1 + 2)])
def test_memory_is_that_of_all_devices_together(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch, of_process: bool, total: int
) -> None:
    """An engine that counts its process counts each device by itself."""
    runtime = Fake()
    sessions = [
        runtime.compile(graphs.dense, {"batch": 1}, Settings(device=device)) for device in "0101"
    ]
    memory_by_id = {
        id(device_session): Memory(n, of_process=of_process)
        for n, device_session in enumerate(sessions, 1)
    }
    monkeypatch.setattr(FakeSession, "memory", lambda self: memory_by_id[id(self)])
    with Several(sessions, devices=2) as session:
        assert session.memory().device_peak_bytes == total


def test_a_check_is_of_each_device(graphs: Graphs) -> None:
    runtime = Recording()
    check_result = check_sessions(runtime, graphs.dense, {"batch": 1}, Settings(device="0+2"))
    assert isinstance(check_result, Checked)
    assert runtime.compiled == ["0", "2"]
    assert (
        check_result.execution is not None
        and check_result.execution.device_name == "fake + another fake"
    )
    assert check_availability(registry.load("tensorrt-rtx"), "0+sm89") != check_availability(
        Fake(), "0+1"
    )
