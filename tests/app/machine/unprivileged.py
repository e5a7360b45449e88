"""A child that may neither lock memory nor take a priority, also where the tests run as root."""

from __future__ import annotations

import ctypes
import os
import resource

import pytest

from app.machine.placement import highest_realtime, usable_cores

_PR_CAPBSET_DROP, _CAP_IPC_LOCK, _CAP_SYS_NICE = 24, 14, 23
_LIBC = ctypes.CDLL(None)


def give_up() -> None:
    """For `preexec_fn`: what is executed next has neither capability nor limit for it.

    Who is not root can't drop what he has not got, and is as well without.
    """
    for capability in (_CAP_IPC_LOCK, _CAP_SYS_NICE):
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


needs_realtime = pytest.mark.skipif(
    not highest_realtime() or len(usable_cores()) < 2,
    reason="takes the right to a real-time priority, and a core to leave to others",
)
needs_cores = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(usable_cores()) < 2,
    reason="takes two cores that can be chosen",
)
