"""What the stand-ins for TensorRT offer is in the table of the real interfaces, release by release.

TensorRT can't be installed on most machines that these tests run on, and TensorRT for RTX loads
no engine there. So the adapter runs over stand-ins, and what these have is what it can use.
"""

from __future__ import annotations

import ast
import csv
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.runtimes.stand_ins import tensorrt as stand_in
from tests.runtimes.stand_ins import tensorrt_rtx as rtx_stand_in

RTX = "rtx-"
"""Stands before the releases of TensorRT for RTX."""


@dataclass(frozen=True, slots=True)
class Member:
    """One row of the table: what the bindings of NVIDIA's wheels tell of themselves, imported
    beside empty libraries of the names that they link.

    `kind` is class, method, property or value (of an enumeration); `signature` is what a method
    takes and returns, its overloads with ` | ` between them; `versions` are the releases that have
    the member with it.
    """

    owner: str
    name: str
    kind: str
    signature: str
    versions: tuple[str, ...]


def load_table() -> tuple[Member, ...]:
    path = Path(__file__).with_name("tensorrt_bindings") / "bindings.csv"
    rows = csv.DictReader(path.read_text("utf-8").splitlines())
    return tuple(
        Member(r["class"], r["member"], r["kind"], r["signature"], tuple(r["versions"].split()))
        for r in rows
    )


TABLE = load_table()
VERSIONS = frozenset(version for member in TABLE for version in member.versions)
ONLY_TEN = {("BuilderFlag", name) for name in ("BF16", "FP16", "FP8", "INT8")}
"""Weak typing, which TensorRT 11 and TensorRT for RTX lack."""
NOT_YET_IN_TEN_ZERO = {
    ("", "EngineStat"),
    ("EngineStat", "TOTAL_WEIGHTS_SIZE"),
    ("ICudaEngine", "get_engine_stat"),
    ("ICudaEngine", "device_memory_size_v2"),
}
"""What a check for `get_engine_stat` stands before."""


OWN = {"failing", "Severity", "log"}
"""What the stand-in has for its tests, and what an engine calls of a class that is derived."""


def offered(module: ModuleType) -> Iterator[tuple[str, str, object]]:
    """Class, name and value of each member of a class or an enumeration of TensorRT's."""
    classes = {m.name for m in TABLE if m.kind == "class"}
    for owner, value in vars(module).items():
        if owner in classes and (inspect.isclass(value) or isinstance(value, SimpleNamespace)):
            for name, member in vars(value).items():
                if not name.startswith("_") and name not in OWN and member is not None:
                    yield owner, name, member


@pytest.mark.parametrize("module", [stand_in, rtx_stand_in], ids=["tensorrt", "rtx"])
def test_the_stand_in_offers_nothing_that_a_release_lacks(module: ModuleType) -> None:
    is_rtx = module is rtx_stand_in
    versions = {version for version in VERSIONS if version.startswith(RTX) == is_rtx}
    count = 0
    for owner, name, member in offered(module):
        rows = [
            row
            for row in TABLE
            if (row.owner, row.name) == (owner, name) and {*row.versions} & versions
        ]
        missing = versions.difference(*(row.versions for row in rows))
        if (owner, name) in ONLY_TEN:
            assert missing and not any(version.startswith("10.") for version in missing)
        elif (owner, name) in NOT_YET_IN_TEN_ZERO:
            assert missing <= {"10.0.1"}
        else:
            assert not missing, f"{owner}.{name} is not in {sorted(missing)}"
        for row in rows:
            if inspect.isfunction(member) and row.signature:
                names = list(inspect.signature(member).parameters)
                assert any(_fits(names, text) for text in row.signature.split(" | ")), row
        count += 1
    assert count > (5 if is_rtx else 40)


def _fits(names: list[str], signature: str) -> bool:
    """Whether a call with arguments of these names has all that the signature asks."""
    parameters = re.sub(r"<[^>]*>", "DEFAULT", signature.partition(" -> ")[0])
    function = ast.parse(f"def f{parameters}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    known = [argument.arg for argument in function.args.args]
    return names == known[: len(names)] and len(known) - len(function.args.defaults) <= len(names)
