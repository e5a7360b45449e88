"""Where an execution provider's library lies, what it calls itself, and the devices that it offers
here once ONNX Runtime has loaded it.

A package follows ONNX Runtime's convention with `get_library_path()` and `get_ep_name()` or
`get_ep_names()`: onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html. Only
`plugin` imports one, and `offered` has ONNX Runtime call its library's entry point. Both are for a
child: what they load may crash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from exporters.types import GraphlapError
from runtimes.base import Device
from runtimes.errors import NotAvailable
from runtimes.onnxruntime.errors import plain
from runtimes.session.precision import cpu_name

if TYPE_CHECKING:
    import onnxruntime

_REMEDY = "name a package that follows ONNX Runtime's convention, or the path of its library"
_USUAL_PREFIX = "onnxruntime_ep_"
_DOTTED_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A provider's library; `names` are its providers, empty where nobody tells them."""

    path: str
    names: tuple[str, ...] = ()


def installed() -> tuple[Device, ...]:
    """The packages that are called as ONNX Runtime advises, found without importing them."""
    package_names = sorted(m.name for m in iter_modules() if m.name.startswith(_USUAL_PREFIX))
    return tuple(Device(name, _release(name)) for name in package_names)


def refuse_misnamed(target: str) -> None:
    """NotAvailable for what is neither a library that is there nor the name of a package."""
    if is_path(target):
        if not Path(target).is_file():
            raise NotAvailable(f"there is no file {target}", "give the path of the library")
    elif not _DOTTED_NAME.fullmatch(target):
        # What pip installs by one name is imported by the other.
        name = target.replace("-", "_")
        suggestion = f"did you mean {name}? " if _DOTTED_NAME.fullmatch(name) else ""
        raise NotAvailable(
            f"{target!r} is neither a package nor the path of a library", f"{suggestion}{_REMEDY}"
        )


def is_path(target: str) -> bool:
    return "/" in target or target.endswith((".so", ".dylib"))


def plugin(target: str) -> Plugin:
    """The library of a package, which is imported, or of a path; NotAvailable with the reason."""
    if is_path(target):
        return Plugin(str(Path(target).resolve()))
    module = _import_plugin(target)
    if not callable(getattr(module, "get_library_path", None)):
        raise NotAvailable(
            f"the package {target} brings no execution provider: it has no get_library_path()",
            _REMEDY,
        )
    try:
        return Plugin(str(module.get_library_path()), _names(module))
    except GraphlapError:
        raise
    except Exception as error:
        raise NotAvailable(
            f"the package {target} does not provide the path of its library "
            f"({type(error).__name__}: {error})",
            "install it again",
        ) from error


def _import_plugin(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise _missing(name) from error
        raise _broken_package(name, error) from error
    except Exception as error:
        raise _broken_package(name, error) from error


def _names(module: ModuleType) -> tuple[str, ...]:
    if callable(getattr(module, "get_ep_names", None)):
        return tuple(map(str, module.get_ep_names()))
    if callable(getattr(module, "get_ep_name", None)):
        return (str(module.get_ep_name()),)
    return ()


def _missing(name: str) -> NotAvailable:
    return NotAvailable(
        f"the package {name} is not installed",
        f"pip install {name.partition('.')[0].replace('_', '-')}, or give the path of a library",
    )


def _broken_package(name: str, error: Exception) -> NotAvailable:
    return NotAvailable(
        f"the package {name} can't be imported ({type(error).__name__}: {error})",
        "install it again",
    )


def _release(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "of no known release"


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
    import onnxruntime

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
    import onnxruntime

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
    import onnxruntime

    return frozenset(device.ep_name for device in onnxruntime.get_ep_devices())


def _own_memory(device: onnxruntime.OrtEpDevice) -> bool:
    """A provider that tells of neither kind computes on the host's plain memory."""
    import onnxruntime

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
