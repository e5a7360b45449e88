"""Result files of other programs, recognised by their content, as a run folder."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np

from app.analysis.columns.identity import REASON
from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.errors import ResultsError, unwritable
from app.cases.round import MEASURED, RECORD, RUNTIME, Imported, Limits, RoundResult
from app.cases.units import DEFAULT, percentile_of
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder, samples_name
from app.run_folder.manifest import new_manifest
from app.run_folder.run import Run
from app.runs.importing import benchmark_app, pyperf, trtexec
from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    ForeignCase,
    NoTimings,
    Timings,
    read_content,
)
from app.runs.reader import read_run
from exporters.types import named

PROGRAMS: dict[str, ModuleType] = {
    "benchmark_app": benchmark_app,
    "trtexec": trtexec,
    "pyperf": pyperf,
}
"""Each has `recognises` and `read`. No file is of two of them."""
_SAMPLE_COLUMNS = ("case_id", "scheduled_ns", "finished_ns")


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file's cases and, for each of them, what a row says of where it comes from."""

    program: str
    path: Path
    cases: tuple[tuple[ForeignCase, Imported], ...]


def read_foreign(path: Path) -> ForeignFile:
    """What a file holds; ResultsError for one of no program that is known, a damaged one, and one
    in which nothing was timed."""
    content = read_content(path)
    if content.fault:
        raise ResultsError(f"{path} is damaged ({content.fault})", "let its program write it again")
    if _is_ours(content):
        raise ResultsError(
            f"{path} is Graphlap's own", "give its run folder to graphlap report or compare"
        )
    program = next((name for name, item in PROGRAMS.items() if item.recognises(content)), None)
    if program is None:
        raise ResultsError(
            f"{path} is no result file of a program that is known",
            f"give one of {', '.join(PROGRAMS)}: docs/coming-from.md lists the file of each",
        )
    try:
        cases: Sequence[ForeignCase] = PROGRAMS[program].read(content)
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
    return ForeignFile(
        program, path, tuple((item, _import_case(program, content, item)) for item in cases)
    )


def _import_case(program: str, content: Content, foreign_case: ForeignCase) -> Imported:
    return Imported(
        program,
        foreign_case.version,
        content.path.name,
        content.sha256,
        foreign_case.clock,
        foreign_case.boundary,
        foreign_case.figures,
        foreign_case.calls,
    )


def _is_ours(content: Content) -> bool:
    """Whether it is a file of a run folder, which is read where it lies."""
    data = content.data
    if isinstance(data, dict):
        return str(data.get("format")).startswith("graphlap-") or {"run_id", "cases"} <= data.keys()
    text = content.text
    # A Parquet file names its columns as plain text too, at its end.
    header = text if text.startswith("PAR1") else text.partition("\n")[0]
    return "graphlap_version" in header or all(name in header for name in _SAMPLE_COLUMNS)


NAME = "imported"
_FIRST = (50.0, 99.0, 99.9)
"""The percentiles that a table shows before others."""
_ALWAYS = (50.0, 99.0)


def cases_of(files: Sequence[tuple[str, ForeignFile]]) -> list[tuple[Case, ForeignCase, Imported]]:
    """The case of each, under the name that was given for its file, else the one that the file
    tells, else the file's own; ResultsError where two are the same case."""
    cases: dict[str, tuple[Case, ForeignCase, Imported]] = {}
    for name, foreign in files:
        for foreign_case, origin in foreign.cases:
            case = Case(
                name or foreign_case.model or foreign.path.name.partition(".")[0],
                f"{RUNTIME}:{foreign.program}",
                axes=foreign_case.axes,
                options=foreign_case.options,
            )
            if case.case_id in cases:
                previous_file = cases[case.case_id][2].file
                raise ResultsError(
                    f"{origin.file} and {previous_file} hold the same case {case.model!r}",
                    "name one as NAME=FILE, or import it as a run of its own",
                )
            cases[case.case_id] = case, foreign_case, origin
    return list(cases.values())


def write_run(path: Path, cases: Sequence[tuple[Case, ForeignCase, Imported]]) -> Run:
    """The run folder of these cases, made at `path`; ResultsError if it can't be."""
    manifest = new_manifest(
        name=NAME,
        seed=0,
        rounds=max(max(1, len(foreign_case.rounds)) for _, foreign_case, _ in cases),
        time_limit_s=Limits().max_s,
        limits=Limits(),
        plan=plan_of(cases),
        cases=[case for case, _, _ in cases],
        environment={},
    )
    with RunFolder.create(path, manifest) as folder:
        folder.begin({})
        for case, foreign_case, origin in cases:
            for result in _rounds(folder.samples, case, foreign_case, origin):
                folder.record(result)
        run = read_run(path)
        write_tables(folder, Rows().of(run))
    return run


def plan_of(cases: Sequence[tuple[Case, ForeignCase, Imported]]) -> Plan:
    """What is in the folder, in the words of a plan; nobody can measure it."""
    stated_percentiles = {
        percentile_of(name.removeprefix("latency_").removesuffix("_us"))
        for _, foreign_case, _ in cases
        for name in foreign_case.figures
    }
    percentiles = sorted(percentile for percentile in stated_percentiles if percentile is not None)
    extras = [percentile for percentile in percentiles if percentile not in DEFAULT]
    # Where neither of the two that every table shows is stated, those that are come first.
    leading = percentiles if not stated_percentiles.intersection(_ALWAYS) else []
    order = tuple(dict.fromkeys((*leading, *_FIRST, *DEFAULT, *extras)))
    return Plan(
        name=NAME,
        sweeps=(
            Sweep(
                models=tuple(dict.fromkeys(case.model for case, _, _ in cases)),
                runtimes=tuple(dict.fromkeys(case.runtime for case, _, _ in cases)),
            ),
        ),
        percentiles=order if leading or extras else DEFAULT,
    )


def _rounds(
    samples: Path, case: Case, foreign_case: ForeignCase, origin: Imported
) -> Iterator[RoundResult]:
    outcome = RoundResult(
        case.case_id,
        0,
        "imported",
        REASON.format(program=origin.program_text),
        warnings=foreign_case.warnings,
        clock="imported",
        options=case.options,
        imported=origin,
    )
    if not foreign_case.rounds:
        yield outcome
    for number, timings in enumerate(foreign_case.rounds):
        records = _records(timings)
        name = samples_name(case.case_id, number)
        try:
            (samples / name).write_bytes(records)
        except OSError as error:
            raise unwritable(samples / name, error, ", or give another --out") from error
        yield replace(
            outcome,
            round=number,
            samples=name,
            samples_crc32=zlib.crc32(records),
            iterations=len(timings.started_ns),
            duration_s=float(timings.finished_ns.max() - timings.started_ns.min()) * 1e-9,
        )


def _records(timings: Timings) -> bytes:
    records = np.zeros(len(timings.started_ns), RECORD)
    records["scheduled_ns"] = records["started_ns"] = timings.started_ns
    records["finished_ns"] = timings.finished_ns
    records["phase"] = MEASURED
    return records.tobytes()
