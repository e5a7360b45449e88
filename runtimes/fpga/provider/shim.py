"""The C shim that ONNX Runtime loads: where it lies, and the provider that it is known for.

It stands alone so that whether it was built can be told without the card's compiler.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

PROVIDER_NAME = "FpgaSimExecutionProvider"

SHIM_REMEDY = "install a C compiler, then install graphlap again so that its extension is built"


def shim_path() -> Path | None:
    """The compiled C shim as an absolute path; None if it was not built."""
    folder = Path(__file__).resolve().parent
    built = (folder / f"_shim{suffix}" for suffix in EXTENSION_SUFFIXES)
    return next((path for path in built if path.is_file()), None)
