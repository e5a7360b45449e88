"""`python -m runtimes.device_library NAME DEVICE`: print the library that a device stands for.

It runs by the interpreter of the case, and imports the package that brings the library: that may
crash, and may take the packages of another environment.
"""

from __future__ import annotations

import os
import sys

from runtimes import registry


def main() -> None:
    name, device = sys.argv[1:]
    answer = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print is no part of the answer
    answer.write(os.fsencode(registry.load(name).device_library(device)))
    os._exit(0)


if __name__ == "__main__":
    main()
