"""The programs whose files are read; who wrote a file its content tells, whatever its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from app.cases.errors import ResultsError
from app.cases.imported import Imported
from app.results.imports import (
    benchmark_app,
    loadgen,
    perf_test,
    polygraphy,
    pyperf,
    trtexec,
)
from app.results.imports.content import Content, read_content
from app.results.imports.found import Damaged, Found, NoTimings
from exporters.complaint import named

PROGRAMS: dict[str, ModuleType] = {
    "benchmark_app": benchmark_app,
    "onnxruntime_perf_test": perf_test,
    "trtexec": trtexec,
    "polygraphy": polygraphy,
    "loadgen": loadgen,
    "pyperf": pyperf,
}
"""Each has `recognises` and `read`. No file is of two of them."""
_OF_SAMPLES = ("case_id", "scheduled_ns", "finished_ns")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file's cases and, for each of them, what a row says of where it comes from."""

    program: str
    path: Path
    found: tuple[tuple[Found, Imported], ...]


def read_foreign(path: Path) -> Foreign:
    """What a file holds; ResultsError for one of no program that is known, a damaged one, and one
    in which nothing was timed."""
    content = read_content(path)
    if content.fault:
        raise ResultsError(f"{path} is damaged ({content.fault})", "let its program write it again")
    if _is_ours(content):
        raise ResultsError(
            f"{path} is Graphlap's own", "give its run folder to graphlap report or compare"
        )
    program = next((name for name, one in PROGRAMS.items() if one.recognises(content)), None)
    if program is None:
        raise ResultsError(
            f"{path} is no result file of a program that is known",
            f"give one of {', '.join(PROGRAMS)}: docs/importing.md lists the file of each",
        )
    try:
        found: Sequence[Found] = PROGRAMS[program].read(content)
    except Damaged as error:
        raise ResultsError(
            f"{path} is no whole file of {program} ({error})", "let it write the file again"
        ) from None
    except NoTimings as error:
        raise ResultsError(
            f"{path} of {program} has no timings ({error})", "measure again, then import that"
        ) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ResultsError(
            f"{path} is no whole file of {program} ({named(error)})", "let it write the file again"
        ) from None
    return Foreign(program, path, tuple((one, _imported(program, content, one)) for one in found))


def _imported(program: str, content: Content, found: Found) -> Imported:
    return Imported(
        program,
        found.version,
        content.path.name,
        content.sha256,
        found.clock,
        found.boundary,
        found.figures,
        found.calls,
    )


def _is_ours(content: Content) -> bool:
    """Whether it is a file of a run folder, which is read where it lies."""
    data = content.data
    if isinstance(data, dict):
        return str(data.get("format")).startswith("graphlap-") or {"run_id", "cases"} <= data.keys()
    text = content.text
    # A Parquet file names its columns as plain text too, at its end.
    told = text if text.startswith("PAR1") else text.partition("\n")[0]
    return "graphlap_version" in told or all(name in told for name in _OF_SAMPLES)
