"""The table of checks: what is checked, of which runtimes, with which options, for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.gpu import result_checks, timing_checks
from tests.gpu.subject import Finding, Options, Subject

GPU_RUNTIMES = ("torch-cuda", "ort-cuda", "tensorrt", "ort-tensorrt", "tensorrt-rtx")

_DEVICE: Options = {"boundary": "device"}
_GRAPH: Options = {"boundary": "device", "cuda_graph": True}
_PINNED_OPTIONS: Options = {"boundary": "host", "host_memory": "pinned"}
_PAGEABLE: Options = {"boundary": "host", "host_memory": "pageable"}
_PINNED_GRAPH: Options = {**_PINNED_OPTIONS, "cuda_graph": True}
_ALL = (_DEVICE, _GRAPH, _PINNED_OPTIONS, _PAGEABLE, _PINNED_GRAPH)
_GRAPHS = (_GRAPH, _PINNED_GRAPH)
_TF32 = tuple({**_DEVICE, "tf32": allowed} for allowed in (False, True))
_SYNC = tuple({**_DEVICE, "sync": sync} for sync in ("spin", "block"))
_SESSIONS = tuple(
    {**_DEVICE, "cuda_graph": graph, "sessions": count}
    for graph in (False, True)
    for count in (2, 4)
)
_OWN_GRAPHS: Options = {**_DEVICE, "mode": "reduce-overhead", "sessions": 2}


@dataclass(frozen=True, slots=True)
class Check:
    """`runtimes` is empty for all. One of its `own_process` shares it with no other check: what it
    sets is fixed for a process, or what it does may leave traces."""

    name: str
    measure: Callable[[Subject, Options], Finding]
    conditions: tuple[Options, ...]
    runtimes: tuple[str, ...] = ()
    limit_s: float = 60.0
    own_process: bool = False


CHECKS = (
    Check("outputs after poisoning", result_checks.outputs_are_written, _ALL),
    Check("replays read new inputs", result_checks.replays_read_new_inputs, _GRAPHS),
    Check("run has waited", timing_checks.has_waited, _ALL),
    Check("run is possible", timing_checks.is_possible, (*_ALL, _TF32[1])),
    Check("memory bandwidth", timing_checks.memory_is_possible, (_DEVICE,), limit_s=120.0),
    Check("host clock and events", timing_checks.agrees_with_events, _ALL),
    Check("precision", result_checks.precision_is_as_stated, _TF32),
    Check("copies counted", timing_checks.copies_are_counted, _ALL),
    Check("runs ahead", timing_checks.queues_ahead, (_DEVICE, _GRAPH)),
    Check("A/A", timing_checks.is_repeatable, (_DEVICE,)),
    Check(
        "torch.utils.benchmark",
        timing_checks.agrees_with_torch_benchmark,
        (_DEVICE,),
        runtimes=("torch-cuda",),
    ),
    Check("energy", timing_checks.energy_agrees, (_DEVICE,)),
    Check("sync", timing_checks.waits_as_set, _SYNC, own_process=True),
    Check("threads", result_checks.threads_keep_apart, _SESSIONS, own_process=True),
    Check(
        "threads",
        result_checks.threads_keep_apart,
        (_OWN_GRAPHS,),
        runtimes=("torch-cuda",),
        limit_s=180.0,
        own_process=True,
    ),
    Check(
        "out of memory",
        result_checks.survives_no_memory,
        (_DEVICE, _PINNED_OPTIONS),
        own_process=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Task:
    """One check with one set of options: a line of the table that is written."""

    check: Check
    options: Options

    @property
    def key(self) -> tuple[str, str]:
        return self.check.name, label(self.options)


def label(options: Options) -> str:
    """Options as a case writes them."""
    return ",".join(f"{name}={_text(value)}" for name, value in options.items())


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def tasks(runtime: str) -> list[Task]:
    """What is checked of a runtime. Those that can share a process come first, and of them those
    of the same options together: they share sessions too."""
    task_list = [
        Task(check, options)
        for check in CHECKS
        if not check.runtimes or runtime in check.runtimes
        for options in check.conditions
    ]
    order = list(dict.fromkeys(label(task.options) for task in task_list))
    return sorted(task_list, key=lambda t: (t.check.own_process, order.index(label(t.options))))
