"""What all torch sessions of a process share: inference mode, and what the compiler holds."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import torch


class _Process:
    """What all torch sessions of a process share, held from the first to the last of them.

    Inference mode is entered once and not around each call, as a serving loop does it: the
    guard would cost more than a small layer. It holds for one thread, so that any other that
    is to run a session enters it too, for as long as that thread lives.
    """

    def __init__(self) -> None:
        self._sessions = 0
        self._compiled = False
        self._held = ExitStack()
        self._threads = threading.local()

    def enter(self) -> None:
        if not self._sessions:
            self._held.enter_context(torch.inference_mode())
        self._sessions += 1

    def enter_thread(self) -> None:
        # The guard is ended by its thread's end, which drops it: it must not be dropped earlier.
        if not torch.is_inference_mode_enabled():
            self._threads.guard = torch.inference_mode()
            self._threads.guard.__enter__()

    def leave(self, compiled: bool) -> None:
        self._sessions -= 1
        self._compiled |= compiled
        if not self._sessions:
            self._held.close()
            if self._compiled:
                torch.compiler.reset()
                self._compiled = False


shared_process = _Process()
