"""Each check on a GPU finds the defect that it exists for, and nothing in a correct runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu.checks import CHECKS, Task, tasks
from tests.gpu.device import NotRun
from tests.gpu.models import Models
from tests.gpu.stand_in import STAND_IN_SIZES, STAND_INS, StandInDevice, StandInRuntime
from tests.gpu.subject import Finding, Subject

TOOLS = {"trtexec", "onnxruntime_perf_test"}
FOUND_BY = {
    "early-return": {"run has waited"},
    "impossible-speed": {"run is possible", "memory bandwidth"},
    "short-events": {"host clock and events"},
    "always-tf32": {"precision", "run is possible"},
    "never-tf32": {"precision"},
    "unstated-tf32": {"precision"},
    "unwritten-outputs": {"outputs after poisoning"},
    "frozen-inputs": {"replays read new inputs"},
    "free-copies": {"copies counted", "run is possible"},
    "hidden-copies": {"copies counted"},
    "mixed-threads": {"threads"},
    "unnamed-memory-error": {"out of memory"},
    "broken-after-memory-error": {"out of memory"},
    "spin-only": {"sync"},
    "misstated-sync": {"sync"},
    "blocking-queue": {"runs ahead"},
    "unfinished-queue": {"runs ahead"},
    "uneven-sessions": {"A/A"},
    "double-energy": {"energy"},
    "slow-torch": {"torch.utils.benchmark"},
}
"""Which checks must fail of each stand-in; others may, for what follows from the same defect."""
WITHOUT_VERDICT = {"correct", "missing", "no-events", "error", "crash", "hang"}
"""Stand-ins that are for the command, or whose checks are not run."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("models"), STAND_IN_SIZES)


def planned() -> list[Task]:
    return [task for task in tasks("torch-cuda") if task.check.name not in TOOLS]


def findings(defect: str, models: Models, chosen_tasks: list[Task], folder: Path) -> list[Finding]:
    results = []
    for task in chosen_tasks:
        device = StandInDevice(defect)  # as in a process of its own
        subject = Subject(StandInRuntime(device), device, models, str(folder))
        try:
            results.append(task.check.measure(subject, task.options))
        finally:
            subject.close()
    return results


def test_every_defect_has_a_check() -> None:
    assert FOUND_BY.keys() | WITHOUT_VERDICT == STAND_INS.keys()
    assert set().union(*FOUND_BY.values()) | TOOLS == {check.name for check in CHECKS}


def test_a_correct_runtime_passes_all(models: Models, tmp_path: Path) -> None:
    chosen_tasks = planned()
    results = zip(chosen_tasks, findings("correct", models, chosen_tasks, tmp_path), strict=True)
    assert [(task.key, finding) for task, finding in results if not finding.passed] == []


@pytest.mark.parametrize("defect", FOUND_BY)
def test_a_defect_is_found(defect: str, models: Models, tmp_path: Path) -> None:
    for name in FOUND_BY[defect]:
        chosen_tasks = [task for task in planned() if task.check.name == name]
        results = findings(defect, models, chosen_tasks, tmp_path)
        assert not all(finding.passed for finding in results), name


def test_without_events_the_check_of_them_is_not_run(models: Models, tmp_path: Path) -> None:
    chosen_tasks = [task for task in planned() if task.check.name == "host clock and events"]
    with pytest.raises(NotRun):
        findings("no-events", models, chosen_tasks, tmp_path)
