"""Our timed loop around the calls of `c_loop.c`: `same_library.py LIBRARY ARGUMENTS ...`.

The Python package holds a second build of ONNX Runtime beside libonnxruntime; this takes
that difference away and leaves the loop alone to be compared.
"""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np

from app.workers.loop import WAIT, Block, run_block


def main(library: str, arguments: list[str]) -> None:
    calls = ctypes.PyDLL(library)
    calls.step.restype = ctypes.c_void_p
    words = [b"", *(word.encode() for word in arguments)]
    if calls.prepare(len(words), (ctypes.c_char_p * len(words))(*words)):
        sys.exit("the calls could not be prepared")
    count = int(arguments[3])
    block = Block(count)
    gc.freeze()
    gc.disable()
    for _ in range(2):
        run_block(block, count, calls.step, calls.feed, 0, WAIT["spin"])
    records = block.records(count, 0)
    sys.stdout.write(f"{np.median(records['finished_ns'] - records['started_ns'])}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
