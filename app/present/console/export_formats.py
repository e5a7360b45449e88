"""The formats of other programs: the files of each, and the functions that make them; the check of
a run's folder, `graphlap verify`."""

from __future__ import annotations

import filecmp
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.analysis.columns.rows import Rows
from app.analysis.columns.table import parse_columns
from app.analysis.comparison.aggregate_throughput import HOSTS, hosts_csv, throughput_over_hosts
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.column import Row
from app.cases.errors import PlanError, suggestion, unwritable
from app.formatting.text import counted, printable
from app.present.answer import answers
from app.present.document import Block, Paragraph, names, table
from app.run_folder.copies import Copies
from app.run_folder.files import Finding, agree, write_atomically
from app.run_folder.folder import TELEMETRY
from app.run_folder.manifest import MANIFEST
from app.run_folder.run import SAMPLES, Run
from app.runs.exporting.tables import (
    SAMPLES_FILE,
    back_up_fuller_table,
    export_tables,
    sample_lines,
)
from app.runs.union import read_runs
from app.runs.verify import IntactRun, differing_file, verify
from exporters import install_layout
from exporters.file_access import open_file, read_file


@dataclass(frozen=True, slots=True)
class Format:
    """`writes` is the function that makes the files of a run and its rows and gives their paths;
    `files` are their names as patterns, and `package` is what it needs beyond ours, which the extra
    `data` brings. `compares`: it takes measured cases in the place of rows, since it compares
    them."""

    writes: str
    files: tuple[str, ...]
    package: str = ""
    compares: bool = False


CSV = "csv"
FORMATS = {
    CSV: Format("app.runs.exporting.tables:export_samples", ("samples.csv",)),
    "json": Format("app.runs.exporting.json_file:export_json", ("results.json",)),
    "markdown": Format("app.present.console.check:export_markdown", ("results.md",), compares=True),
    "parquet": Format(
        "app.runs.exporting.tables:export_parquet",
        ("results.parquet", "samples.parquet"),
        "pyarrow",
    ),
    "hdr": Format("app.runs.exporting.traces:export_hdr", ("latency.hlog", "hgrm/*.hgrm"), "hdrh"),
    "trace": Format("app.runs.exporting.traces:export_trace", ("trace/*.json.gz",)),
}


def formats_of(text: str | None) -> tuple[str, ...]:
    """The formats of `--export csv,trace`; PlanError for one that is not known or can't be made."""
    names = tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))
    if text is not None and not names:
        raise PlanError("--export names no format", f"give some of {', '.join(FORMATS)}")
    for name in names:
        if name not in FORMATS:
            raise PlanError(f"--export {name} is not known", suggestion(name, list(FORMATS)))
        package = FORMATS[name].package
        if package and find_spec(package) is None:
            raise PlanError(
                f"--export {name} needs {package}, which is not installed",
                "pip install 'graphlap[data]'",
            )
    return names


def export(
    run: Run,
    names: Sequence[str],
    columns: Sequence[str] = (),
    measurements: Sequence[MeasuredCase] | None = None,
) -> list[Path]:
    """Write the files of these formats into the run folder; DiskError if one can't be. `columns`
    are the words of `--columns`, for the table for people. `measurements` are the run's cases,
    which are read if they are not there yet: rows alone where no format compares them."""
    paths: list[Path] = []
    if measurements is None and any(FORMATS[name].compares for name in names):
        measurements = Rows().measured(run)
    rows = Rows().of(run) if measurements is None else [case.row for case in measurements]
    try:
        for name in names:
            if name == CSV:
                paths += export_tables(run, rows, columns)
            cases = measurements if FORMATS[name].compares else rows
            paths += install_layout.load(FORMATS[name].writes)(run, cases)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error
    return paths


def check_derived(copies: Copies) -> Callable[[Sequence[Row]], Iterator[Finding]]:
    """The exports and answers in a run's folder that are not what it amounts to, once its rows are
    known. Samples in text are too many to be written for this, and compared while these are
    computed."""
    run = copies.run
    has_samples = (run.path / SAMPLES_FILE).is_file()
    is_made_of_samples = copies.begin(_is_made_of_samples) if has_samples else lambda: True

    def findings(rows: Sequence[Row]) -> Iterator[Finding]:
        yield from _check_made_of_rows(run, rows)
        if not is_made_of_samples():
            yield differing_file(run, SAMPLES_FILE, CSV)

    return findings


def _is_made_of_samples(run: Run) -> bool:
    with open_file(run.path / SAMPLES_FILE) as file:
        parts = sample_lines(run)
        return all(file.read(len(part)) == part for part in parts) and not file.read(1)


def _check_made_of_rows(run: Run, rows: Sequence[Row]) -> Iterator[Finding]:
    """Each file is made again elsewhere and compared."""
    for name, export_format in FORMATS.items():
        has_files = any(next(run.path.glob(files), None) for files in export_format.files)
        has_package = not export_format.package or find_spec(export_format.package)
        if name == CSV or not has_files or not has_package:
            continue
        with TemporaryDirectory() as scratch:
            for folder in (SAMPLES, TELEMETRY):
                Path(scratch, folder).symlink_to((run.path / folder).absolute())
            cases = Rows().measured(run) if export_format.compares else rows
            write = install_layout.load(export_format.writes)
            for path in write(replace(run, path=Path(scratch)), cases):
                file = str(path.relative_to(scratch))
                if (run.path / file).is_file() and not _are_same(run.path / file, path):
                    yield differing_file(run, file, name)
    for answer in answers(run):
        for file, content in answer.files():
            if (run.path / file).is_file() and not agree(read_file(run.path / file), content):
                yield differing_file(run, file, "")


def _are_same(file: Path, other: Path) -> bool:
    """Whether two files have the same content, packed or not. Those of samples are larger than what
    is best held, and are read in parts where they are the same."""
    if filecmp.cmp(file, other, shallow=False):
        return True
    if file.suffix == ".parquet":
        return _have_same_cells(file, other)
    data, other_data = read_file(file), read_file(other)
    if file.suffix == ".gz" and data != other_data:
        try:
            data, other_data = gzip.decompress(data), gzip.decompress(other_data)
        except (OSError, EOFError, zlib.error):
            return False
    return agree(data, other_data)


def _have_same_cells(file: Path, other: Path) -> bool:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table, other_table = parquet.read_table(file), parquet.read_table(other)
        if table.equals(other_table):
            return True
        texts = (repr(part.to_pydict()).encode() for part in (table, other_table))
    except (OSError, pa.ArrowException):
        return False
    return agree(*texts)


def export_stored(
    folders: Sequence[str],
    names: Sequence[str],
    columns: str | None = None,
    output: str | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of what is whole of a run, in its folder or in `output`, where those of several run
    folders, read as one run, have to be: a line for each file, and one for each thing that is
    damaged. `columns` is `--columns` as typed."""
    if columns is not None and CSV not in names:
        raise PlanError("--columns is of results.csv", "add -f csv, or remove --columns")
    run, damage = read_runs(folders, unite=output is not None)
    backup = ""
    if output is not None:
        run = replace(run, path=_output_folder(Path(output)))
    elif run.parts:
        raise PlanError("-o: several runs have no folder of their own", "Give -o FOLDER")
    elif CSV in names:
        backup = _back_up(run)
    measurements = Rows().measured(run) if run.parts else None
    paths = export(run, names, _words(run, columns), measurements)
    if measurements and CSV in names and (together := throughput_over_hosts(run, measurements)):
        write_atomically(run.path / HOSTS, hosts_csv(together))
        paths.append(run.path / HOSTS)
    return (*filter(None, [backup]), *(f"wrote {path}" for path in paths)), damage


def _output_folder(path: Path) -> Path:
    if (path / MANIFEST).exists():
        raise PlanError(f"-o: {path} is a run folder", "Give another folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, ", or give another -o") from error
    return path


def _words(run: Run, columns: str | None) -> tuple[str, ...]:
    if columns is None:
        return ()
    return parse_columns(columns, run.manifest.requested_plan.percentiles)


def _back_up(run: Run) -> str:
    try:
        return back_up_fuller_table(run)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error


OK, DAMAGED = 0, 1


def damage(runs: Sequence[IntactRun]) -> tuple[str, ...]:
    """A sentence for each thing that is damaged in one of them."""
    return tuple(f"{run.run.path}: {sentence}" for run in runs for sentence in run.damage_texts)


@dataclass(frozen=True, slots=True)
class RunDocument:
    """What is shown of runs: blocks, a sentence for each thing in the runs that is damaged, and
    facts for programs."""

    blocks: tuple[Block, ...]
    damage: tuple[str, ...] = ()
    facts: Callable[[], Mapping[str, Any]] = dict

    @property
    def code(self) -> int:
        """The exit code."""
        return DAMAGED if self.damage else OK


def verify_folder(folder: str) -> tuple[int, tuple[Block, ...], str]:
    """The exit code and what is damaged in a folder, as blocks, or as lines for a terminal, where
    paths stay whole; ResultsError for one that is no run."""
    found = verify(Path(folder), check_derived)
    rows = [
        (
            "note" if entry.harmless else "damaged",
            entry.code,
            entry.file,
            entry.problem,
            entry.remedy,
        )
        for entry in found.findings
    ]
    whole_text = (
        f"{'damaged; whole are' if found.damaged else 'whole:'} {counted(found.lines, 'line')}, "
        f"{counted(found.rounds, 'round')}, {counted(found.samples, 'measured run')}"
    )
    if found.live:
        whole_text += "; it is being written now: look again when it has ended"
    findings_table = table(names("verdict", "code", "file", "finding", "action"), rows)
    lines = [f"{mark}: {file} {problem}: {remedy}" for mark, _, file, problem, remedy in rows]
    text = "".join(f"{printable(line)}\n" for line in (*lines, whole_text))
    return DAMAGED if found.damaged else OK, (findings_table, Paragraph(whole_text)), text
