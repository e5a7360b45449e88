"""The C shim that ONNX Runtime loads: where it lies, and the provider that it is known for.

It stands alone so that whether it was built can be told without the card's compiler.
"""

from __future__ import annotations

from pathlib import Path

from exporters import own

PROVIDER_NAME = "FpgaSimExecutionProvider"


def shim_path() -> Path | None:
    """The compiled C shim as an absolute path; None if it was not built."""
    return own.extension("runtimes.fpga.provider._shim")
