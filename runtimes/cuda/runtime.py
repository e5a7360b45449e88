"""What the runtimes on a GPU share: their devices are those that the driver tells."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from exporters.diagnostics.catalogue import diagnostic
from runtimes.base import Device, Runtime, Session
from runtimes.cuda import ballast, identity, libraries, waiting
from runtimes.cuda.options import HOST_MEMORY, SYNC
from runtimes.options import Settings, all_options
from runtimes.request import Request

_Opened = TypeVar("_Opened", bound=Session)


class GpuRuntime(Runtime):
    """Runs on one GPU, which goes by the number that the driver gives it."""

    accelerator = "gpu"
    default_device = "0"

    def devices(self) -> tuple[Device, ...]:
        return libraries.devices()

    def device_uuid(self, device: str) -> str:
        number = device or self.default_device
        return identity.uuid_of(int(number)) if number.isdecimal() else ""

    def cores_near(self, device: str) -> str:
        number = device or self.default_device
        return identity.cores_near(int(number)) if number.isdecimal() else ""

    def limited(
        self, device: str, settings: Settings, limit_bytes: int
    ) -> AbstractContextManager[None]:
        if not limit_bytes:
            return nullcontext()
        number = int(device or self.default_device)
        # The context is made here already.
        waiting.wait_by(number, str(all_options(self.options, settings.options)[SYNC.name]))
        return ballast.leaving(number, limit_bytes)

    def _before(self, request: Request) -> None:
        """What must be so before an engine makes the context that all share."""
        waiting.wait_by(int(request.settings.device), str(request.options[SYNC.name]))

    def _told(self, request: Request, session: _Opened) -> _Opened:
        """The session, which says how the host waits for its runs and what they copy from."""
        execution, asked = session.execution, request.options[SYNC.name]
        had = waiting.waits_by(int(request.settings.device))
        facts, path = {"sync": had}, execution.call_path
        if execution.boundary == "host":
            facts["host_memory"] = str(request.options[HOST_MEMORY.name])
            path = f"{path}, {facts['host_memory']} host memory"
        refused = diagnostic("sync_not_granted", requested=str(asked), actual=had)
        session.execution = replace(
            execution,
            call_path=path,
            facts={**execution.facts, **facts},
            warnings=execution.warnings + ((refused,) if had != asked else ()),
        )
        return session
