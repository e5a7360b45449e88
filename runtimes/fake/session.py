"""A session that says of itself what its script says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from exporters.types import Reference
from runtimes.base import Session
from runtimes.execution import Execution
from runtimes.fake.lane import FakeLane, crash
from runtimes.faults import RuntimeFault
from runtimes.options import OptionValue
from runtimes.request import Request

DEVICES = {"0": "fake", "1": "fake", "2": "another fake"}
"""By key what each calls itself: two are alike. All of them are this machine's cores."""


class FakeSession(Session):
    """`open` counts those that are not closed."""

    open: ClassVar[int] = 0

    def __init__(
        self, request: Request, reference: Reference, script: Mapping[str, OptionValue]
    ) -> None:
        self._lane = FakeLane(request, reference, script)
        self._crashes = script["fail"] == "close_crash"
        self._closed = False
        self.lanes = (self._lane,)
        self.execution = Execution(
            provider="fake",
            precision=request.settings.precision,
            device_name=DEVICES[request.settings.device or "0"],
            call_path="a Python function that waits",
        )
        FakeSession.open += 1

    def fault(self, error: Exception) -> RuntimeFault:
        return error if isinstance(error, RuntimeFault) else super().fault(error)

    def close(self) -> None:
        if self._crashes:
            crash()
        self._lane.close()
        FakeSession.open -= not self._closed
        self._closed = True
