"""ONNX Runtime with any execution provider that comes as a library or in a package of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from exporters.diagnostics.catalogue import diagnostic
from runtimes.base import Availability, Device, Runtime, Session
from runtimes.execution import Execution, NodePlacement
from runtimes.faults import NotAvailable
from runtimes.options import SESSIONS, Option
from runtimes.ort.execution import mark_shape_arithmetic
from runtimes.ort.opened import in_c, in_python, module_in_c
from runtimes.ort.opening import GRAPH_OPTIMIZATION, OnDevice, Opening, availability
from runtimes.ort.plugin import installed, plugin, refuse_misnamed
from runtimes.request import Request
from runtimes.session.call_option import CALL
from runtimes.session.precision import INTEGER, UNKNOWN

if TYPE_CHECKING:
    from runtimes.ort.execution import Executed
    from runtimes.ort.plugin_devices import Offered

_DEVICES = ("first", "cpu", "gpu", "npu", *map(str, range(16)))


class OrtEp(Runtime):
    """`ort-ep:PACKAGE` or `ort-ep:/path/lib.so`: its provider first, the CPU for what it leaves.

    The library is loaded where a session is opened, and nowhere else.
    """

    name = "ort-ep"
    summary = "ONNX Runtime, an execution provider from a package: ort-ep:PACKAGE or a library"
    options = (
        Option(
            "device",
            "first",
            "which of the provider's devices: the first, a number, or the first of a kind",
            _DEVICES,
        ),
        GRAPH_OPTIMIZATION,
        CALL,
        SESSIONS,
    )
    any_option = True
    engine = "onnxruntime"
    precisions = ("fp32", "fp16", "int8")
    only_when_named = True
    device_is_package = True

    def availability(self) -> Availability:
        return availability("cpu")

    def devices(self) -> tuple[Device, ...]:
        return installed()

    def loaded_devices(self) -> tuple[Device, ...]:
        from runtimes.ort.plugin_devices import listed, offered

        found = []
        for package in installed():
            try:
                told = listed(offered(plugin(package.key)))
            except NotAvailable as fault:
                told = fault.cause
            found.append(Device(package.key, f"{package.name}: {told}"))
        return tuple(found)

    def devices_in(self, device: str) -> tuple[str, ...]:
        """One: it is a provider's library, and a path may hold any sign."""
        return (device,)

    def device_library(self, device: str) -> str:
        self.refuse_device(device, "")
        return plugin(device).path

    def refuse_device(self, device: str, release: str) -> None:
        if release:
            raise NotAvailable(f"{self.name} has no @{release}", f"write {self.name}:{device}")
        if not device:
            packages = ", ".join(f"{self.name}:{package.key}" for package in installed())
            raise NotAvailable(
                f"{self.name} takes the execution provider of a package, and none is named",
                f"write {packages or f'{self.name}:PACKAGE'}, or {self.name}:/path/of/library.so",
            )
        refuse_misnamed(device)

    def load(self) -> None:
        from runtimes.ort import lane, plugin_devices, session  # noqa: F401 - and onnxruntime

    def _compile(self, request: Request) -> Session:
        return self._compile_shapes((request,))

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        from runtimes.ort.ir_version import open_at_earlier_version

        return open_at_earlier_version(self._open, requests)

    def _open(self, requests: Sequence[Request]) -> Session:
        from runtimes.ort.plugin_devices import chosen, offered

        request = requests[0]
        devices = offered(plugin(request.settings.device))
        device = chosen(devices, str(request.options["device"]))
        opening = replace(
            Opening.of(request),
            level=str(request.options["graph_optimization"]),
            device=OnDevice(device.number, self._handed_on(request), device.own_memory),
        )
        tell = partial(_execution, device)
        if module_in_c(request):
            return in_c("module", opening, requests, tell)
        return in_python(opening, requests, tell)

    def _handed_on(self, request: Request) -> dict[str, str]:
        """What is not ours to understand; an empty value is none at all."""
        ours = {option.name for option in self.options}
        return {
            name: str(value)
            for name, value in request.options.items()
            if name not in ours and value != ""
        }


def _execution(device: Offered, executed: Executed, call_path: str) -> Execution:
    """The precision is known where the provider computes no floats: of it ONNX Runtime knows
    only which types go in and come out."""
    placement = tuple(_of_provider(node, device) for node in executed.placement)
    unseen = any(node.precision == UNKNOWN for node in placement)
    untyped = diagnostic("precision_not_reported", device.provider)
    return Execution(
        provider=device.provider,
        precision=UNKNOWN if unseen else executed.precision,
        device_name=device.name,
        call_path=call_path,
        placement=mark_shape_arithmetic(placement, device.provider),
        warnings=executed.warnings + ((untyped,) if unseen else ()),
        inspection_ms=executed.inspection_ms,
    )


def _of_provider(node: NodePlacement, device: Offered) -> NodePlacement:
    hidden = node.provider == device.provider and node.precision != INTEGER
    return replace(node, precision=UNKNOWN) if hidden else node
