"""The package `graphlap`: the public programming interface, and what holds all others in a wheel.

A public name is loaded when it is first asked for, because every child process imports this
module before its engine, and a notebook may import it for one function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.cases.errors import PlanError, ResultsError
    from app.cli.benchmark import (
        BenchmarkResult,
        CellBasedBenchmark,
        LayerBasedBenchmark,
        load_results,
    )
    from app.cli.interface.run import check, compare, run, slo, tune
    from app.cli.notebook import open
    from exporters.types import GraphlapError

    __version__: str

__all__ = [
    "BenchmarkResult",
    "CellBasedBenchmark",
    "GraphlapError",
    "LayerBasedBenchmark",
    "PlanError",
    "ResultsError",
    "__version__",
    "check",
    "compare",
    "load_results",
    "open",
    "run",
    "slo",
    "tune",
]

_PLACES = {
    "BenchmarkResult": "app.cli.benchmark",
    "CellBasedBenchmark": "app.cli.benchmark",
    "GraphlapError": "exporters.types",
    "LayerBasedBenchmark": "app.cli.benchmark",
    "PlanError": "app.cases.errors",
    "ResultsError": "app.cases.errors",
    "load_results": "app.cli.benchmark",
    "check": "app.cli.interface.run",
    "compare": "app.cli.interface.run",
    "open": "app.cli.notebook",
    "run": "app.cli.interface.run",
    "slo": "app.cli.interface.run",
    "tune": "app.cli.interface.run",
}

if not TYPE_CHECKING:  # to a type checker it would promise every name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("graphlap")
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from app.machine.system import refuse_other_systems
        from exporters.install_layout import load

        refuse_other_systems()
        value = globals()[name] = load(f"{_PLACES[name]}:{name}")
        return value


def __dir__() -> list[str]:
    return __all__
