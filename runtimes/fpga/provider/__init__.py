"""The card as an ONNX Runtime execution provider, usable from any onnxruntime script.

`get_library_path` and `get_ep_name` are the public door, by ONNX Runtime's convention for packages,
`register` and `device` what is done with them; the callbacks behind it turn ONNX Runtime's
questions into calls of the partitioner and of the emulation that computes.
"""

from __future__ import annotations

import atexit
import ctypes as c
import threading
from typing import TYPE_CHECKING

from exporters import install_layout
from runtimes.errors import NotAvailable
from runtimes.fpga.provider.abi import PROVIDER_NAME, shim_path

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.fpga.card.compiler import Compiled
    from runtimes.fpga.graph.graph import Graph
    from runtimes.fpga.provider.bridge import Bridge

OLDEST_ONNXRUNTIME = (1, 27)
"""Older ones ignore a plugin's name in `providers=[...]`."""

_lock = threading.Lock()
_bridge: Bridge | None = None


def get_ep_name() -> str:
    """What ONNX Runtime calls the provider."""
    return PROVIDER_NAME


def get_library_path() -> str:
    """What `onnxruntime.register_execution_provider_library` takes, made ready to be called.

    The library asks this process's Python, so that it is of use only to who got it here.
    NotAvailable if the shim was not built or ONNX Runtime is too old.
    """
    global _bridge  # noqa: PLW0603  (ONNX Runtime's own registration is per process too)
    with _lock:
        shim = shim_path()
        if shim is None:
            raise NotAvailable(
                "the C shim of the simulated card was not built", install_layout.COMPILER_REMEDY
            )
        import onnxruntime

        installed_version = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
        if installed_version < OLDEST_ONNXRUNTIME:
            raise NotAvailable(
                f"onnxruntime {onnxruntime.__version__} cannot host the simulated card",
                "install onnxruntime 1.27 or newer",
            )
        if _bridge is None:
            from runtimes.fpga.provider.bridge import Bridge

            _bridge = Bridge(c.CDLL(str(shim)))
            _bridge.fill_hooks()
            # Sessions may outlive the interpreter, which nothing may call into after its end.
            atexit.register(_bridge.empty_hooks)
        return str(shim)


def register() -> None:
    """Make the provider known to ONNX Runtime, if it is not yet; cheap to call again.

    Afterwards `providers=["FpgaSimExecutionProvider"]` and `add_provider_for_devices` take
    it. Raises what `get_library_path` raises.
    """
    path = get_library_path()
    import onnxruntime

    with _lock:
        if not _is_known():
            onnxruntime.register_execution_provider_library(PROVIDER_NAME, path)


def _is_known() -> bool:
    """Whether ONNX Runtime has the provider, which a user may have unregistered."""
    import onnxruntime

    return any(d.ep_name == PROVIDER_NAME for d in onnxruntime.get_ep_devices())


def device() -> onnxruntime.OrtEpDevice:
    """The card's onnxruntime.OrtEpDevice, for `SessionOptions.add_provider_for_devices`."""
    register()
    import onnxruntime

    return next(d for d in onnxruntime.get_ep_devices() if d.ep_name == PROVIDER_NAME)


def compiled() -> tuple[Compiled, ...]:
    """What the compiler made of each of `compiled_graphs`: tiles, cycles, the schedule."""
    return () if _bridge is None else _bridge.compiled()


def compiled_graphs() -> tuple[Graph, ...]:
    """What live sessions gave the card to run, oldest first, one graph per fused node."""
    return () if _bridge is None else _bridge.graphs()
