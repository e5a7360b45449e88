"""`python -m tests.gpu.kit --python 3.12 --out DIR`: the checks for a machine without a network.

Writes DIR/part-1, DIR/part-2, …, each of at most --part-size: archives in parts, with checksums.
Copy them to the machine, there `python3 part-1/start.py -m tests.gpu --minutes 9 --out RESULTS`.
The kit has our modules and their compiled extensions, the packages they import, and ONNX Runtime
with the GPU code of one architecture. A driver, PyTorch and the CUDA libraries are the machine's.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from exporters.size import parse_size
from tests.gpu.kit import contents
from tests.gpu.kit.contents import BASE, ENGINE, ENGINE_PACKAGE, NotBuilt
from tests.gpu.kit.parts import RESERVE_BYTES, write_parts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    flags = parser.parse_args(arguments)
    if flags.out.exists() and any(flags.out.iterdir()):
        parser.error(f"--out: {flags.out} is not empty. Use another folder.")
    try:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), flags)
    except NotBuilt as reason:
        print(f"kit: {reason}", file=sys.stderr)
        return 1
    return 0


def write(work: Path, flags: argparse.Namespace) -> None:
    contents.write_base(work / BASE, flags.python, flags.present)
    for line in contents.write_engine(work / ENGINE, flags.python, flags.engine, flags.arch):
        print(line)
    write_parts([work / BASE, work / ENGINE], flags.out, flags.python, flags.part_size)
    for folder in sorted(flags.out.iterdir()):
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{folder}: {size / 1e6:.1f} MB")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gpu.kit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--python", required=True, metavar="X.Y", type=_release, help="that machine's Python")
    add("--out", required=True, metavar="DIR", type=Path, help="new folder for the parts")
    add(
        "--part-size",
        default=60 * 10**6,
        metavar="SIZE",
        type=_part_size,
        help="most per part (60MB)",
    )
    add("--arch", default=90, metavar="sm_XY", type=_arch, help="GPU architecture (sm_90)")
    add("--engine", default=ENGINE_PACKAGE, metavar="PACKAGE", help=f"({ENGINE_PACKAGE})")
    add("--present", default=(), metavar="NAME,…", type=_names, help="packages to leave out")
    return parser


def _release(text: str) -> str:
    if not re.fullmatch(r"3\.\d+", text):
        raise argparse.ArgumentTypeError(f"expected a release such as 3.12 (got {text})")
    return text


def _arch(text: str) -> int:
    match = re.fullmatch(r"sm_(\d{2,3})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected an architecture such as sm_90 (got {text})")
    return int(match[1])


def _part_size(text: str) -> int:
    try:
        size = parse_size(text)
    except ValueError:
        size = 0
    if size <= 2 * RESERVE_BYTES:
        raise argparse.ArgumentTypeError(f"expected at least 1MB (got {text})")
    return size


def _names(text: str) -> frozenset[str]:
    return frozenset(contents.normal_name(name) for name in text.split(",") if name)


if __name__ == "__main__":
    sys.exit(main())
