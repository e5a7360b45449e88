"""Every name that the TensorRT adapter uses is in the table of the real interfaces.

TensorRT can't be installed on most machines that these tests run on, and TensorRT for RTX loads
no engine there, so the adapter's syntax tree is followed from each annotated object to what is
asked of it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from types import ModuleType
from typing import TypeGuard

import pytest

from tests.runtimes.stand_ins import tensorrt as stand_in
from tests.runtimes.stand_ins import tensorrt_rtx as rtx_stand_in
from tests.runtimes.tensorrt.bindings_table import RTX, load_table

FILES = ("build.py", "errors.py", "session.py")
TABLE = load_table()
VERSIONS = frozenset(version for member in TABLE for version in member.versions)
ONLY_TEN = {("BuilderFlag", name) for name in ("BF16", "FP16", "FP8", "INT8")}
"""Weak typing, which is used in `_allow` alone, and that with TensorRT 10 alone."""
ONLY_RTX = {
    ("", "ComputeCapability"),
    ("IBuilderConfig", "num_compute_capabilities"),
    ("IBuilderConfig", "set_compute_capability"),
    ("", "DynamicShapesKernelSpecializationStrategy"),
    ("DynamicShapesKernelSpecializationStrategy", "EAGER"),
    ("ICudaEngine", "create_runtime_config"),
    ("IRuntimeConfig", "dynamic_shapes_kernel_specialization_strategy"),
}
"""What is used in `_aim` and `context_of` alone, and that with TensorRT for RTX alone."""
NOT_YET_IN_TEN_ZERO = {
    ("", "EngineStat"),
    ("EngineStat", "TOTAL_WEIGHTS_SIZE"),
    ("ICudaEngine", "get_engine_stat"),
    ("ICudaEngine", "device_memory_size_v2"),
}
"""What a check for `get_engine_stat` stands before."""
# The name in C++ that one signature gives for a class which is called otherwise in Python.
_ALIASES = {"IParserError": "ParserError"}

Use = tuple[str, str]


def versions_of(use: Use) -> set[str]:
    return {v for m in TABLE if (m.owner, m.name) == use for v in m.versions}


def signatures(use: Use) -> list[str]:
    member_signatures = [
        m.signature for m in TABLE if (m.owner, m.name) == use and m.kind == "method"
    ]
    return [text for signature in member_signatures for text in signature.split(" | ") if text]


@dataclass
class Reader:
    """Follows TensorRT's types through one file and notes each member that is used."""

    types: dict[str, str] = field(default_factory=dict)
    uses: dict[Use, list[ast.Attribute]] = field(default_factory=dict)
    calls: list[tuple[Use, ast.Call]] = field(default_factory=list)

    def read(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and node.annotation is not None:
                self._declare(node.arg, node.annotation)
            if isinstance(node, ast.AnnAssign):
                self._declare(ast.unparse(node.target), node.annotation)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                self._use(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = self.type_of(node.func.value)
                if owner is not None:
                    is_constructor = owner == "" and any(m.owner == node.func.attr for m in TABLE)
                    use = (
                        (node.func.attr, "__init__") if is_constructor else (owner, node.func.attr)
                    )
                    self.calls.append((use, node))

    def type_of(self, node: ast.AST) -> str | None:
        """The TensorRT class of an expression; "" for the package, None for anything else."""
        text = ast.unparse(node)
        if text in ("trt", "self._trt"):
            return ""
        if text in self.types:
            return self.types[text]
        if isinstance(node, ast.Attribute) and self.type_of(node.value) is not None:
            return node.attr if node.attr[0].isupper() else None
        return None

    def _declare(self, name: str, annotation: ast.AST) -> None:
        match = re.fullmatch(r"tensorrt\.(\w+)", ast.unparse(annotation))
        if match:
            self.types[name] = match[1]

    def _use(self, node: ast.Attribute) -> None:
        owner = self.type_of(node.value)
        if owner is not None:
            self.uses.setdefault((owner, node.attr), []).append(node)


def sources() -> Iterator[ast.Module]:
    for name in FILES:
        yield ast.parse(files("runtimes").joinpath("tensorrt", name).read_text("utf-8"))


@pytest.fixture(scope="module")
def reader() -> Reader:
    reader = Reader()
    for tree in sources():
        reader.read(tree)
    return reader


def test_every_member_that_is_used_is_in_every_release(reader: Reader) -> None:
    assert len(reader.uses) > 40
    for use in reader.uses:
        missing = VERSIONS - versions_of(use)
        if use in ONLY_TEN:
            assert {v for v in VERSIONS if not v.startswith("10.")} == missing, use
        elif use in ONLY_RTX:
            assert not {v for v in missing if v.startswith(RTX)}, use
        elif use in NOT_YET_IN_TEN_ZERO:
            assert missing == {"10.0.1"}, use
        else:
            assert not missing, f"{use} is not in {sorted(missing)}"


def test_every_call_fits_a_signature_of_every_release(reader: Reader) -> None:
    assert len(reader.calls) > 25
    for use, call in reader.calls:
        for version in versions_of(use):
            texts = [
                text
                for m in TABLE
                if (m.owner, m.name) == use and version in m.versions
                for text in m.signature.split(" | ")
                if text
            ]
            assert any(_fits(text, call) for text in texts), f"{use} of {version}: {texts}"


def _fits(signature: str, call: ast.Call) -> bool:
    """Whether the arguments have the number and the names that the signature asks."""
    parameters = re.sub(r"<[^>]*>", "DEFAULT", signature.partition(" -> ")[0])
    function = ast.parse(f"def f{parameters}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    names = [a.arg for a in function.args.args if a.arg != "self"]
    optional = len(function.args.defaults)
    assert isinstance(call.func, ast.Attribute)
    # A base class's own is called with the object itself.
    argument_count = len(call.args) + len(call.keywords) - (call.func.attr == "__init__")
    keyword_names = {keyword.arg for keyword in call.keywords}
    return len(names) - optional <= argument_count <= len(names) and keyword_names <= set(names)


def test_annotated_results_are_what_the_signatures_give() -> None:
    checked_count = 0
    for tree in sources():
        local = Reader()
        local.read(tree)
        for node in ast.walk(tree):
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call)):
                continue
            function = node.value.func
            declared_type = local.types.get(ast.unparse(node.target))
            if declared_type is None or not isinstance(function, ast.Attribute):
                continue
            owner = local.type_of(function.value)
            if owner == "":
                assert function.attr == declared_type
            elif owner is not None:
                results = {
                    text.rpartition(" -> ")[2] for text in signatures((owner, function.attr))
                }
                assert {_ALIASES.get(r, r) for r in results} == {declared_type}, ast.unparse(node)
            checked_count += owner is not None
    assert checked_count > 12


@pytest.mark.parametrize(
    ("uses", "functions"), [(ONLY_TEN, {"_allow"}), (ONLY_RTX, {"_aim", "context_of"})]
)
def test_what_not_all_have_is_used_where_they_do(
    reader: Reader, uses: set[Use], functions: set[str]
) -> None:
    function_nodes = [
        node
        for tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in functions
    ]
    assert {function.name for function in function_nodes} == functions
    lines_inside = {
        node.lineno for function in function_nodes for node in ast.walk(function) if _is_use(node)
    }
    assert {node.lineno for use in uses for node in reader.uses[use]} <= lines_inside


def _is_use(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute)


@pytest.mark.parametrize("stand_in", [stand_in, rtx_stand_in])
def test_the_stand_in_offers_nothing_that_tensorrt_does_not(stand_in: ModuleType) -> None:
    known_members = {(m.owner, m.name) for m in TABLE}
    classes = {m.name for m in TABLE if m.kind == "class"}
    for name, value in vars(stand_in).items():
        if name not in classes or not inspect.isclass(value):
            continue
        for member in vars(value):
            if not member.startswith("_") and member not in {"failing", "Severity", "log"}:
                assert (name, member) in known_members, f"{name}.{member}"
