"""Cases of other programs -> a run folder, which every reader of runs opens."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.cases.case import Case
from app.cases.disk import unwritable
from app.cases.errors import ResultsError
from app.cases.imported import RUNTIME, Imported
from app.cases.percentiles import DEFAULT, percentile_of
from app.cases.round import MEASURED, RECORD, Limits, RoundResult
from app.plan.plan import Plan, Sweep
from app.results.folder import RunFolder, samples_name
from app.results.imported import REASON
from app.results.imports.formats import Foreign
from app.results.imports.found import Found, Timings
from app.results.manifest import new_manifest
from app.results.reader import read_run
from app.results.rows import Rows
from app.results.run import Run
from app.results.tables import write_tables

NAME = "imported"
_FIRST = (50.0, 99.0, 99.9)
"""The percentiles that a table shows before others."""
_ALWAYS = (50.0, 99.0)


def cases_of(files: Sequence[tuple[str, Foreign]]) -> list[tuple[Case, Found, Imported]]:
    """The case of each, under the name that was given for its file, else the one that the file
    tells, else the file's own; ResultsError where two are the same case."""
    cases: dict[str, tuple[Case, Found, Imported]] = {}
    for name, foreign in files:
        for found, imported in foreign.found:
            case = Case(
                name or found.model or foreign.path.name.partition(".")[0],
                f"{RUNTIME}:{foreign.program}",
                axes=found.axes,
                options=found.options,
                scenario=found.scenario,
            )
            if case.case_id in cases:
                other = cases[case.case_id][2].file
                raise ResultsError(
                    f"{imported.file} and {other} hold the same case {case.model!r}",
                    "name one as NAME=FILE, or import it as a run of its own",
                )
            cases[case.case_id] = case, found, imported
    return list(cases.values())


def write_run(path: Path, cases: Sequence[tuple[Case, Found, Imported]]) -> Run:
    """The run folder of these cases, made at `path`; ResultsError if it can't be."""
    manifest = new_manifest(
        name=NAME,
        seed=0,
        rounds=max(max(1, len(found.rounds)) for _, found, _ in cases),
        time_limit_s=Limits().max_s,
        limits=Limits(),
        plan=plan_of(cases),
        cases=[case for case, _, _ in cases],
        environment={},
    )
    with RunFolder.create(path, manifest) as folder:
        folder.begin({})
        for case, found, imported in cases:
            for result in _rounds(folder.samples, case, found, imported):
                folder.record(result)
        run = read_run(path)
        write_tables(folder, Rows().of(run))
    return run


def plan_of(cases: Sequence[tuple[Case, Found, Imported]]) -> Plan:
    """What is in the folder, in the words of a plan; nobody can measure it."""
    stated = {
        percentile_of(name.removeprefix("latency_").removesuffix("_us"))
        for _, found, _ in cases
        for name in found.figures
    }
    known = sorted(percentile for percentile in stated if percentile is not None)
    more = [percentile for percentile in known if percentile not in DEFAULT]
    # Where neither of the two that every table shows is stated, those that are come first.
    others = known if not stated.intersection(_ALWAYS) else []
    order = tuple(dict.fromkeys((*others, *_FIRST, *DEFAULT, *more)))
    return Plan(
        name=NAME,
        sweeps=(
            Sweep(
                models=tuple(dict.fromkeys(case.model for case, _, _ in cases)),
                runtimes=tuple(dict.fromkeys(case.runtime for case, _, _ in cases)),
            ),
        ),
        percentiles=order if others or more else DEFAULT,
    )


def _rounds(samples: Path, case: Case, found: Found, imported: Imported) -> Iterator[RoundResult]:
    told = RoundResult(
        case.case_id,
        0,
        "imported",
        REASON.format(program=imported.told),
        warnings=found.warnings,
        clock="imported",
        options=case.options,
        imported=imported,
    )
    if not found.rounds:
        yield told
    for number, timings in enumerate(found.rounds):
        records = _records(timings)
        name = samples_name(case.case_id, number)
        try:
            (samples / name).write_bytes(records)
        except OSError as error:
            raise unwritable(samples / name, error, ", or give another --out") from error
        yield replace(
            told,
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
