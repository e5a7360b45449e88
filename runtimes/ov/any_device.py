"""OpenVINO on any of its devices, and on those that choose among them: AUTO, MULTI, HETERO.

Which devices there are only the loaded engine knows, so that a plan is checked for its words and
the measuring process for the device.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from exporters.types import Precision
from runtimes.base import Device
from runtimes.faults import NotAvailable
from runtimes.options import SESSIONS, Option
from runtimes.ov.runtime import EXECUTION_MODE, STREAMS, OpenVinoCpu, float_type, refuse_type
from runtimes.request import Request
from runtimes.session.call_option import CALL

if TYPE_CHECKING:
    from runtimes.ov.library import Library

_DEVICE = re.compile(r"[A-Z]+(\.\d+)?")
_NEEDS_NAMES = frozenset({"HETERO", "MULTI"})
_CHOOSES = _NEEDS_NAMES | {"AUTO"}
_CHOSEN_FROM_THE_START = {"ENABLE_STARTUP_FALLBACK": "NO"}
"""AUTO would begin on the CPU while it still compiles for the device that it has chosen."""


class OpenVino(OpenVinoCpu):
    """`openvino:DEVICE`, as `CPU`, `GPU.1`, `AUTO`, `AUTO:GPU+CPU` or `GPU.0+GPU.1`."""

    name = "openvino"
    summary = "OpenVINO on its own devices: CPU, GPU, NPU, AUTO"
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "inference_precision",
            "graph",
            "the float type that kernels use: the graph's, one of these, or the device's own",
            ("graph", "f32", "f16", "bf16", "device"),
        ),
        STREAMS,
        EXECUTION_MODE,
        CALL,
        SESSIONS,
    )
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "bf16", "int8")
    only_when_named = True
    default_device = "AUTO"

    def loaded_devices(self) -> tuple[Device, ...]:
        from runtimes.ov.library import library

        engine = library()
        found = (Device(key, engine.device_name(key)) for key in engine.devices())
        return (*found, Device("AUTO", "what OpenVINO chooses of them"))

    def devices_in(self, device: str) -> tuple[str, ...]:
        """`GPU.0+GPU.1` are two with sessions of their own; behind a colon, as in `MULTI:GPU+CPU`,
        are those that OpenVINO itself divides one session's work among."""
        return (device,) if ":" in device else super().devices_in(device)

    def refuse_device(self, device: str, release: str) -> None:
        if release:
            raise NotAvailable(f"{self.name} has no @{release}", f"write {self.name}:{device}")
        if not device:
            return
        kind, names = _parts(device)
        if kind in _NEEDS_NAMES and not names:
            raise NotAvailable(
                f"{kind} needs the devices that it divides the work among",
                f"write {self.name}:{kind}:GPU+CPU",
            )
        if (names and kind not in _CHOOSES) or not all(map(_DEVICE.fullmatch, (kind, *names))):
            raise NotAvailable(
                f"OpenVINO calls no device {device!r}",
                f"write {self.name}:CPU, GPU, GPU.1, NPU, AUTO, AUTO:GPU+CPU or HETERO:GPU+CPU",
            )

    def _wanted(self, engine: Library, request: Request) -> tuple[str, dict[str, str]]:
        options, settings = request.options, request.settings
        kind, names = _parts(settings.device)
        here = engine.devices()
        used = names or (here if kind == "AUTO" else (kind,))
        for name in used:
            _refuse_absent(name, here)
        properties = {
            "NUM_STREAMS": str(options["streams"]),
            "EXECUTION_MODE_HINT": str(options["execution_mode"]).upper(),
            **(_CHOSEN_FROM_THE_START if kind == "AUTO" else {}),
        }
        asked = str(options["inference_precision"])
        if asked != "device":
            wanted = float_type(asked, settings.precision)
            for name in used:
                refuse_type(name, wanted, engine.computes_in(name))
            properties["INFERENCE_PRECISION_HINT"] = wanted
        if settings.threads and "CPU" in used:
            properties["INFERENCE_NUM_THREADS"] = str(settings.threads)
        return f"{kind}:{','.join(names)}" if names else kind, properties


def _parts(device: str) -> tuple[str, tuple[str, ...]]:
    """`HETERO:GPU+CPU` as HETERO and its devices; a comma would begin another runtime."""
    kind, colon, names = device.partition(":")
    return kind, tuple(names.split("+")) if colon else ()


def _refuse_absent(name: str, here: tuple[str, ...]) -> None:
    """OpenVINO lists a device that is alone of its kind without a number, and takes both."""
    known = {*here, *(f"{one}.0" for one in here), *(one.partition(".")[0] for one in here)}
    if name not in known:
        raise NotAvailable(
            f"OpenVINO finds no {name} on this machine", f"its devices here are {', '.join(here)}"
        )
