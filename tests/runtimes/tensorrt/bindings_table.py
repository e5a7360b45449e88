"""TensorRT's Python interface as a table, from the bindings wheels of the releases that are named.

    python -m tests.runtimes.tensorrt.bindings_table 10.16.1.11 11.4.0.106 rtx-1.7.1.116

The wheels hold the bindings without the engine, some gigabytes of it. So each is unpacked by
itself and imported by a child beside empty libraries of the names that it links; what it then
tells of its classes and signatures is its own. The adapter is checked against the table.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

TABLE = Path(__file__).with_name("tensorrt_bindings") / "bindings.csv"
COLUMNS = ("class", "member", "kind", "signature", "versions")
RTX = "rtx-"
"""Stands before the releases of TensorRT for RTX."""
_MODULE_PATH = re.compile(
    r"\b(?:tensorrt(?:_rtx)?_bindings\.)?tensorrt(?:_rtx)?\.(?=[A-Za-z_])"
    r"|\bnvinfer1::|\bnvonnxparser::"
)
_LINKED_NAME = re.compile(r"(?:create|get|init)\w*(?:Nv|Infer|Plugin)\w*")
_SIGNATURE = re.compile(r"^(?:\d+\. )?(?P<name>\w+)(?P<rest>\(.*\) -> .*)$", re.MULTILINE)

# Run in the child, which prints one JSON list of (class, member, kind, documentation).
_TELL = """
import json
import importlib, sys
module = importlib.import_module(sys.argv[1])
told = []
def tell(owner, name, value):
    kind = (
        "property" if isinstance(value, property)
        else "value" if type(value).__name__ == owner
        else "method" if callable(value) and not isinstance(value, type)
        else None
    )
    if kind:
        told.append((owner, name, kind, (getattr(value, "__doc__", None) or "")))
def members(kind, path):
    for name in vars(kind):
        value = getattr(kind, name)
        if name == "__init__" or not name.startswith("_"):
            tell(path, name, value)
            if isinstance(value, type):
                told.append((path, name, "class", ""))
                members(value, value.__name__)
for name, value in vars(module).items():
    if isinstance(value, type):
        told.append(("", name, "class", ""))
        members(value, name)
    elif callable(value):
        told.append(("", name, "method", value.__doc__ or ""))
print(json.dumps(told))
"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """Bindings without an engine: the distribution, its module in C, the libraries that links."""

    distribution: str
    module: str
    libraries: tuple[str, ...]


_TENSORRT = Wheel(
    "tensorrt-cu12-bindings",
    "tensorrt_bindings.tensorrt",
    ("nvinfer", "nvinfer_plugin", "nvonnxparser"),
)
_TENSORRT_RTX = Wheel(
    "tensorrt-rtx-cu12-bindings",
    "tensorrt_rtx_bindings.tensorrt_rtx",
    ("tensorrt_rtx", "tensorrt_onnxparser_rtx"),
)


@dataclass(frozen=True, slots=True)
class Member:
    """One row: `kind` is class, method, property or value (of an enumeration).

    `signature` is what a method takes and returns, its overloads with ` | ` between them;
    `versions` are the releases that have the member with it.
    """

    owner: str
    name: str
    kind: str
    signature: str
    versions: tuple[str, ...]


def load_table() -> tuple[Member, ...]:
    """The table that is kept beside this file."""
    text = TABLE.read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(
        Member(r["class"], r["member"], r["kind"], r["signature"], tuple(r["versions"].split()))
        for r in rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the table of TensorRT's Python interface.")
    parser.add_argument("versions", nargs="+", help="releases of the bindings, as 10.16.1.11")
    versions = parser.parse_args().versions
    releases_by_member: dict[tuple[str, str, str, str], list[str]] = {}
    for version in versions:
        for row in _release_members(version):
            releases_by_member.setdefault(row, []).append(version)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        _write(file, releases_by_member)
    return 0


def _write(file: TextIO, releases_by_member: dict[tuple[str, str, str, str], list[str]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in sorted(releases_by_member):
        writer.writerow([*row, " ".join(releases_by_member[row])])


def _release_members(version: str) -> set[tuple[str, str, str, str]]:
    wheel = _TENSORRT_RTX if version.startswith(RTX) else _TENSORRT
    with tempfile.TemporaryDirectory(prefix="graphlap-") as name:
        folder, number = Path(name), version.removeprefix(RTX)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", name]
        subprocess.run([*pip, f"{wheel.distribution}=={number}"], check=True)
        (file,) = folder.glob("*.whl")
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder / "unpacked")
        return _tell(folder, wheel, number.partition(".")[0])


def _tell(folder: Path, wheel: Wheel, major: str) -> set[tuple[str, str, str, str]]:
    """What the unpacked bindings say of themselves."""
    (module,) = folder.glob(f"unpacked/{wheel.module.replace('.', '/')}*.so")
    libraries = folder / "libraries"
    libraries.mkdir()
    source = folder / "empty.c"
    source.write_text(
        "".join(f"void *{name}(void) {{ return 0; }}\n" for name in _linked_names(module))
    )
    for library in wheel.libraries:
        soname = f"lib{library}.so.{major}"
        compile_one = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}"]
        subprocess.run([*compile_one, "-o", libraries / soname, source], check=True)
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(libraries),
        "PYTHONPATH": str(folder / "unpacked"),
    }
    process = subprocess.run(
        [sys.executable, "-c", _TELL, wheel.module],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    return {(o, n, kind, _signatures(kind, doc)) for o, n, kind, doc in json.loads(process.stdout)}


def _linked_names(module: Path) -> list[str]:
    """The functions that the bindings expect of TensorRT: all that bear no library's version."""
    done = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", module], capture_output=True, check=True, text=True
    )
    names = (line.split()[-1] for line in done.stdout.splitlines())
    return sorted(name for name in names if _LINKED_NAME.fullmatch(name))


def _signatures(kind: str, documentation: str) -> str:
    """The arguments and the result of each overload, module names left out."""
    if kind != "method":
        return ""
    matches: Iterable[re.Match[str]] = _SIGNATURE.finditer(documentation)
    plain = (_MODULE_PATH.sub("", match["rest"]) for match in matches)
    return " | ".join(dict.fromkeys(text for text in plain if "*args, **kwargs" not in text))


if __name__ == "__main__":
    sys.exit(main())
