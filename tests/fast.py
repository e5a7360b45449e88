"""A pytest plugin for `make test-fast`: with `--only-fast` it keeps the tests that start nothing.

A test is fast if neither it nor what it uses of `tests`, fixtures and helpers alike, names a module
that starts a process, opens a window or makes a session of an engine. That is read from the syntax
trees, so that no list of tests has to be kept. A process that such a test starts nevertheless is
refused.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STARTING = (
    # Processes and hosts.
    *("subprocess", "multiprocessing", "dask", "distributed", "socket", "http.server"),
    *("os.fork", "os.forkpty", "os.posix_spawn", "os.posix_spawnp", "os.system", "os.popen"),
    *(
        "app.__main__",
        "app.cli.benchmark",
        "app.cli.headless",
        "app.cli.interface",
        "app.run_folder.copies",
        "app.sweep.remote",
        "graphlap",
    ),
    *("app.machine.child", "app.machine.environment", "app.machine.installed_runtimes"),
    *(
        "app.machine.release_environments",
        "app.present.console.doctor",
        "app.capabilities.tuning.answer",
    ),
    *("app.plan.estimate", "app.plan.expand", "app.plan.models.Outlines"),
    *("app.plan.runtime_selection", "app.runs.following", "nbclient"),
    *(
        "app.sweep.scheduling.shares",
        "app.sweep.engine",
        "app.sweep.work.local_executor",
        "app.sweep.run",
    ),
    *("app.sweep.run_creation", "app.sweep.work.process", "app.sweep.work.export"),
    *("app.workers.colocation", "app.workers.peak", "exporters.worker"),
    # Windows and browsers.
    *("PySide6", "pyqtgraph", "pytestqt", "app.gui"),
    # Sessions, and torch, which takes seconds to import.
    *("onnxruntime", "openvino", "tensorrt", "torch", "torchvision", "timm", "transformers"),
    *("app.contract", "app.workers.measure", "exporters.pytorch", "exporters.models"),
    *(
        "runtimes.cuda",
        "runtimes.fpga.provider",
        "runtimes.onnxruntime",
        "runtimes.openvino",
        "runtimes.pytorch",
    ),
    *("runtimes.tensorrt", "runtimes.registry", "runtimes.session"),
)
"""Modules, and packages with all that is in them."""
_WINDOW_FIXTURES = frozenset({"qapp", "qtbot"})
_PROCESS_EVENTS = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
)
"""What CPython audits when a process is started."""

Place = tuple[Path, str]
"""A module of the tests and a name in it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-fast", action="store_true", help="tests that start no process, window or session"
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    # With xdist the first process starts the others and runs no test itself.
    if session.config.getoption("--only-fast") and not session.config.getoption("numprocesses", 0):
        sys.addaudithook(_refuse_process)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_tests = collection_path.is_file() and collection_path.name.startswith("test_")
    if not config.getoption("--only-fast") or not is_tests:
        return None
    return None if fast_tests(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--only-fast"):
        left_out = [item for item in items if _function_of(item) not in fast_tests(item.path)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _function_of(item) in fast_tests(item.path)]


@cache
def fast_tests(path: Path) -> frozenset[str]:
    """The names of a file's test functions that start nothing."""
    return frozenset(name for name in all_tests(path) if not started_by(path, name))


def all_tests(path: Path) -> frozenset[str]:
    """The names of a file's test functions."""
    return frozenset(name for name in _module(path).uses if name.startswith("test_"))


_STARTS_NOTHING: set[Place] = set()


def started_by(path: Path, name: str) -> str:
    """What a test function uses that starts something, or ""."""
    places: set[Place] = set()
    files = (path, *_conftests(path))
    waiting = [(path, name), *((file, use) for file in files for use in _module(file).automatic)]
    while waiting:
        place = waiting.pop()
        if place in places or place in _STARTS_NOTHING:
            continue
        places.add(place)
        source = _module(place[0]).imports.get(place[1], "")
        if _is_starting(source) or place[1] in _WINDOW_FIXTURES:
            return source or place[1]
        waiting.extend(_used_by(*place))
    _STARTS_NOTHING.update(places)
    return ""


def _used_by(path: Path, name: str) -> Iterator[Place]:
    """What a name of a module of the tests uses: of its own module, or where it comes from."""
    module = _module(path)
    if name in module.uses:
        yield from ((path, use) for use in module.uses[name])
    elif module.imports.get(name, "").startswith("tests."):
        whole = ROOT / f"{module.imports[name].replace('.', '/')}.py"
        package = whole.parent.with_suffix(".py")
        if whole.is_file():
            yield from ((whole, definition) for definition in _module(whole).uses)
        elif package.is_file():
            yield package, whole.stem
    else:
        yield from ((file, name) for file in _conftests(path) if name in _module(file).uses)


@dataclass(frozen=True)
class _Module:
    """By name what is imported, and of each definition the names that it uses; the fixtures that
    each test of the module, or of the folder of a conftest.py, is given."""

    imports: dict[str, str] = field(default_factory=dict)
    uses: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    automatic: set[str] = field(default_factory=set)


@cache
def _module(path: Path) -> _Module:
    module = _Module()
    for node in ast.parse(path.read_text("utf-8")).body:
        references: set[str] = set()
        strings: set[str] = set()
        definitions: set[str] = set()
        for part in ast.walk(node):
            match part:
                case ast.Name(id=name):
                    (definitions if isinstance(part.ctx, ast.Store) else references).add(name)
                case ast.arg(arg=name):
                    references.add(name)
                case ast.Attribute(value=ast.Name(id="os"), attr=name):
                    module.imports[f"os.{name}"] = f"os.{name}"
                    references.add(f"os.{name}")
                case ast.Constant(value=str(text)) if text.isidentifier():
                    strings.add(text)
                case ast.ImportFrom(module=str(source), names=names):
                    module.imports.update((a.asname or a.name, f"{source}.{a.name}") for a in names)
                case ast.Call(
                    func=ast.Attribute(attr="importorskip"), args=[ast.Constant() as first, *_]
                ):
                    name = str(first.value)
                    module.imports[name] = name
                    module.automatic.add(name)
                case ast.Import(names=names):
                    module.imports.update(
                        ((a.asname or a.name).split(".")[0], a.name) for a in names
                    )
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions = {node.name}
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            references |= strings if "usefixtures" in decorators else set()
            module.automatic.update({node.name} if "autouse" in decorators else ())
        module.automatic.update(strings if "pytestmark" in definitions else ())
        for name in definitions:
            module.uses[name] |= references
    return module


@cache
def _conftests(path: Path) -> tuple[Path, ...]:
    """Those that hold for a file, the nearest first."""
    folders = [folder for folder in path.parents if folder.is_relative_to(ROOT / "tests")]
    return tuple(file for folder in folders if (file := folder / "conftest.py").is_file())


@cache
def _is_starting(source: str) -> bool:
    return any(source == name or source.startswith(f"{name}.") for name in STARTING)


def _function_of(item: pytest.Item) -> str:
    return item.originalname if isinstance(item, pytest.Function) else item.name


def _refuse_process(event: str, arguments: tuple[object, ...]) -> None:
    if event in _PROCESS_EVENTS:
        raise RuntimeError(
            f"a test of --only-fast starts a process ({event} {arguments[:1]}). Name the "
            "module that starts it in STARTING of tests/fast.py"
        )
