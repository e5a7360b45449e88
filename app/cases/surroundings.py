"""What a round tells of the machine around it, as far as that can differ from round to round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from app.cases.gpu_state import GpuState

_OTHERS = 0.5
"""Rounds that keep all cores busy come to a load of a little more than their number by themselves:
204 of them, on two cores with nothing else, to 2.2 at most."""


def others_ran(load_1min: float, cores: int) -> bool:
    """Whether the load of the last minute tells of other work, where the rounds of the same run may
    have kept all cores busy in it."""
    return load_1min > cores + _OTHERS


class Surroundings(TypedDict, total=False):
    """Load and clock as it began, then the place that its process had: what is not known is None or
    not there. `cpu_mhz` is the mean over its timed blocks once they are over.

    `affinity` are cores, `numa_nodes` their nodes, `variables` those that the process was given for
    its engine; `other_gpus` are there where it computed on several.
    """

    load_1min: float
    cpu_mhz: float | None
    governor: str | None
    affinity: list[int]
    numa_nodes: list[int]
    scheduler: str | None
    threads: int
    memory_locked: bool | None
    variables: Mapping[str, str]
    gpu: GpuState
    other_gpus: list[GpuState]
