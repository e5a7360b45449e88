"""The devices that a provider's library offers here, once ONNX Runtime has loaded it.

ONNX Runtime calls the library's entry point in this process, and so may end it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnxruntime

from runtimes.errors import NotAvailable
from runtimes.onnxruntime.errors import plain
from runtimes.onnxruntime.plugin import Plugin
from runtimes.session.precision import cpu_name

FIRST = "first"

_provider_names: dict[str, frozenset[str]] = {}
"""The providers of each library that this process has registered."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A device of a provider; `number` is its place in ONNX Runtime's list of all devices.

    `hardware` is `cpu`, `gpu` or `npu`; with `own_memory` the provider computes on memory of its
    own.
    """

    number: int
    provider: str
    hardware: str
    name: str
    own_memory: bool


def offered(plugin: Plugin) -> tuple[Offered, ...]:
    """What the library offers on this machine, those of the providers it names first.

    NotAvailable where it is no such library, does not suit this ONNX Runtime, or offers nothing.
    """
    providers = _register(plugin)
    offers = [
        Offered(
            number,
            device.ep_name,
            device.device.type.name.lower(),
            _name(device),
            _own_memory(device),
        )
        for number, device in enumerate(onnxruntime.get_ep_devices())
        if device.ep_name in providers
    ]
    if not offers:
        names = ", ".join(plugin.names) or Path(plugin.path).name
        raise NotAvailable(
            f"{names} offers no device on this machine, whose processor is {cpu_name()}",
            "measure it where the hardware that it is for is",
        )
    return tuple(sorted(offers, key=lambda device: device.provider not in plugin.names))


def chosen(devices: Sequence[Offered], device_name: str) -> Offered:
    """The first, the one of this number, or the first of this hardware; NotAvailable if none is."""
    if device_name == FIRST:
        return devices[0]
    for number, device in enumerate(devices):
        if device_name in (str(number), device.hardware):
            return device
    raise NotAvailable(f"there is no device {device_name}", f"the devices are {listed(devices)}")


def listed(devices: Sequence[Offered]) -> str:
    """`0 CardExecutionProvider on the npu, a card`, and so on."""
    return "; ".join(
        f"{number} {device.provider} on the {device.hardware}, {device.name}"
        for number, device in enumerate(devices)
    )


def _register(plugin: Plugin) -> frozenset[str]:
    """The providers of the library, which is registered if it is not yet."""
    before = _providers()
    known = _provider_names.get(plugin.path) or frozenset(plugin.names)
    if known and known <= before:
        return known
    try:
        # By the name that others would give it too: ONNX Runtime takes a library twice by two.
        name = plugin.names[0] if plugin.names else plugin.path
        onnxruntime.register_execution_provider_library(name, plugin.path)
    except Exception as error:
        raise NotAvailable(
            f"ONNX Runtime {onnxruntime.__version__} does not take {Path(plugin.path).name} as an "
            f"execution provider ({plain(error)})",
            "give a provider's library, of a release that is for this ONNX Runtime",
        ) from error
    _provider_names[plugin.path] = _providers() - before
    return _provider_names[plugin.path]


def _providers() -> frozenset[str]:
    return frozenset(device.ep_name for device in onnxruntime.get_ep_devices())


def _own_memory(device: onnxruntime.OrtEpDevice) -> bool:
    """A provider that tells of neither kind computes on the host's plain memory."""
    kinds = onnxruntime.OrtDeviceMemoryType
    memory_infos = map(device.memory_info, (kinds.DEFAULT, kinds.HOST_ACCESSIBLE))
    return any(memory is not None for memory in memory_infos)


def _name(device: onnxruntime.OrtEpDevice) -> str:
    """What the device is called by whoever describes it, else by its maker and number."""
    if device.device.type.name == "CPU":
        return cpu_name()
    metadata = {key.lower(): value for key, value in device.device.metadata.items()}
    maker, number = device.device.vendor, device.device.device_id
    return metadata.get("description") or f"{maker or device.ep_vendor} {number:#06x}".strip()
