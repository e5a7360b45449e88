"""What a measuring process has of the system is read back, and what it has not is told."""

from __future__ import annotations

import pytest

from app.machine.placement import highest_realtime, nodes_of, usable_cores
from exporters.diagnostics.catalogue import codes, diagnostic
from tests.app.machine.unprivileged import give_up, needs_realtime
from tests.app.workers.conftest import Measure

LAST = (max(usable_cores()),)
_REFUSAL_CODES = {"memory_not_locked", "realtime_refused"}


@needs_realtime
@pytest.mark.parametrize(("runtime", "threads"), [("ort-cpu", 1), ("fake", 1)])
def test_what_was_permitted_was_had(measure: Measure, runtime: str, threads: int) -> None:
    priority = min(3, highest_realtime())
    result, _, _ = measure(
        runtime, affinity=LAST, lock_memory=True, realtime=priority, threads=threads
    )
    assert (result.status, result.reason) == ("ok", "")
    assert result.environment["affinity"] == list(LAST)
    assert result.environment["numa_nodes"] == list(nodes_of(LAST))
    assert result.environment["scheduler"] == f"fifo {priority}"
    assert result.environment["memory_locked"] is True
    assert not _REFUSAL_CODES & {*codes(result.warnings)}


@needs_realtime
@pytest.mark.parametrize(
    ("runtime", "threads", "options"),
    [("fake", 1, {"sessions": 2}), ("ort-cpu", 2, {})],
)
def test_real_time_threads_that_could_wait_for_each_other_for_ever_are_refused(
    measure: Measure, runtime: str, threads: int, options: dict[str, int]
) -> None:
    arguments = {"affinity": LAST, "options": options, "threads": threads}
    result, records, _ = measure(runtime, realtime=1, **arguments)
    assert result.status == "unsupported"
    assert "2 threads of one real-time priority take no turns on 1 core" in result.reason
    assert len(records) == 0
    other_result, _, _ = measure(runtime, realtime=1, before=give_up, **arguments)
    assert other_result.status == "ok", "who has no priority takes turns"


def test_what_was_not_permitted_is_told_with_its_remedy(measure: Measure) -> None:
    result, records, _ = measure(
        "ort-cpu", affinity=LAST, lock_memory=True, realtime=3, before=give_up
    )
    assert result.status == "ok"
    assert len(records) > 0
    assert result.environment["scheduler"] == "other"
    assert result.environment["memory_locked"] is False
    assert {*codes(result.warnings)} >= _REFUSAL_CODES
    (priority,) = (warning for warning in result.warnings if warning.code == "realtime_refused")
    assert priority.parameters["priority"] == 3


def test_what_was_not_asked_for_is_recorded_and_not_warned_of(measure: Measure) -> None:
    result, _, _ = measure("fake", before=give_up)
    assert result.environment["affinity"] == sorted(usable_cores())
    assert result.environment["scheduler"] == "other"
    assert result.environment["memory_locked"] is False
    assert not (_REFUSAL_CODES | {"cores_not_granted"}) & {*codes(result.warnings)}


def test_the_batch_process_on_the_same_cores_is_told(measure: Measure) -> None:
    result, _, _ = measure("fake", affinity=LAST, shared=True)
    assert "batch_process_on_measured_cores" in codes(result.warnings)


def test_cores_that_are_gone_since_are_not_claimed(measure: Measure) -> None:
    """The system silently takes away what it does not allow."""
    result, _, _ = measure("fake", affinity=(*LAST, 8000))
    assert result.environment["affinity"] == list(LAST)
    cores = {"requested": f"{LAST[0]},8000", "granted": f"{LAST[0]}"}
    assert diagnostic("cores_not_granted", **cores) in result.warnings
