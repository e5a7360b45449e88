"""What the options of a session say to this provider."""

from __future__ import annotations

import ctypes as c

from runtimes.fpga.provider.shim import PROVIDER_NAME
from runtimes.ort.c_api import OrtApi


def own_options(api: OrtApi, session_options: int) -> dict[str, str]:
    """Those that ONNX Runtime files under the provider's name, without it."""
    pairs = c.c_void_p()
    api.GetSessionOptionsConfigEntries(session_options, c.byref(pairs))
    try:
        keys, values = c.POINTER(c.c_char_p)(), c.POINTER(c.c_char_p)()
        count = c.c_size_t()
        api.GetKeyValuePairs(pairs, c.byref(keys), c.byref(values), c.byref(count))
        entries = {
            (keys[i] or b"").decode(): (values[i] or b"").decode() for i in range(count.value)
        }
    finally:
        api.ReleaseKeyValuePairs(pairs)
    prefix = f"ep.{PROVIDER_NAME.lower()}."
    return {
        key[len(prefix) :]: value
        for key, value in entries.items()
        if key.lower().startswith(prefix)
    }
