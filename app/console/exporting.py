"""`--export`: a run in the formats of other programs, as it ends or from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.cases.disk import unwritable
from app.cases.errors import PlanError, suggestion
from app.console.damage import with_damage
from app.results.exports.earlier import keep_fuller
from app.results.measured import Measured
from app.results.rows import Rows
from app.results.run import Run
from app.results.verify import Whole, read_whole
from exporters import own


@dataclass(frozen=True, slots=True)
class Format:
    """`writes` is the function that makes the files and gives their paths; `package` is what it
    needs beyond ours, which the extra `data` brings."""

    writes: str
    package: str = ""


FORMATS = {
    "csv": Format("app.results.exports.csv_files:export_csv"),
    "json": Format("app.results.exports.json_file:export_json"),
    "markdown": Format("app.console.markdown:export_markdown"),
    "parquet": Format("app.results.exports.parquet:export_parquet", "pyarrow"),
    "hdr": Format("app.results.exports.hdr:export_hdr", "hdrh"),
    "trace": Format("app.results.exports.trace:export_trace"),
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


def export(run: Run, measured: Sequence[Measured], names: Sequence[str]) -> list[Path]:
    """Write the files of these formats into the run folder; DiskError if one can't be."""
    try:
        return [path for name in names for path in own.load(FORMATS[name].writes)(run, measured)]
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error


def export_stored(folders: Sequence[str], names: Sequence[str]) -> tuple[str, int]:
    """The same of what is whole in runs that are there: a line for each file and for each thing
    that is damaged, and the exit code, 1 where there is one."""
    wrote: list[Path] = []
    runs: list[Whole] = []
    kept: list[str] = []
    for folder in folders:
        found = read_whole(Path(folder))
        if "csv" in names and (sentence := _kept(found.run)):
            kept.append(sentence)
        wrote += export(found.run, Rows().measured(found.run), names)
        runs.append(found)
    told = "".join(f"{line}\n" for line in (*kept, *(f"wrote {path}" for path in wrote)))
    return with_damage(told, runs)


def _kept(run: Run) -> str:
    try:
        return keep_fuller(run)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error
