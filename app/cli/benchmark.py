"""NeurIO's and dlmark's programming interfaces over our own sweeps.

A benchmark is a suite on one runtime, measured as the batch mode measures it and left in a
run folder; its result tells the runs in the fields of NeurIO's profiler. `load_results` gives
the rows of any number of runs, as dlmark's function of that name does.
"""

from __future__ import annotations

import csv
import glob
import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import table_of
from app.cases.errors import PlanError, ResultsError, suggestion, unwritable
from app.formatting.text import storable
from app.machine.environment import describe_host
from app.plan.plan import parse_plan
from app.plan.plan_files import load_suite
from app.present.console.answer.outcome import exit_code
from app.run_folder.files import is_path, write_atomically
from app.run_folder.folder import RESULTS
from app.run_folder.manifest import FULL_TABLE
from app.run_folder.table import csv_line, neutralise_formula
from app.runs.exporting.json_file import as_json, profile
from app.runs.exporting.tables import frame_of, pandas, run_frame
from app.runs.reader import read_run
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from exporters.file_access import read_file
from runtimes.base import Runtime

if TYPE_CHECKING:
    import pandas as pd

_STEP_S = 0.2
_NOTEBOOK_SOURCES = (
    "device",
    "runtime",
    "throughput_per_s",
    "device_memory_peak_mib",
    "rss_peak_mib",
    "accuracy_top1",
)
_COMMON_COLUMNS = {"case_id", "model", "runtime", "status"}
"""Columns by which a results.csv is told from another table."""


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """What a benchmark measured: a profile for each model, and the run folder with all of it.

    >>> result = LayerBasedBenchmark().run_on("ort-cpu")
    >>> result.to_frame().sort_values("model_load_time")
    """

    path: Path
    profiles: tuple[dict[str, Any], ...]

    def to_frame(self) -> pd.DataFrame:
        """One line for each model and the profiler's fields as its columns.

        A field that two parts share carries its part's name: `device_name`, `runtime_name`.
        """
        pd = pandas()
        return pd.DataFrame([_flat(case_profile) for case_profile in self.profiles])

    def to_csv(self, path: str | Path | None = None) -> str:
        """The frame as CSV, written to `path` if one is given; lists are JSON in their cell.

        >>> LayerBasedBenchmark().run_on("ort-cpu").to_csv("layers.csv")
        """
        frame = self.to_frame()
        lines = [csv_line(map(str, frame.columns))]
        lines += [csv_line(map(_as_cell, row)) for row in frame.itertuples(index=False, name=None)]
        return _write_text("".join(lines), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """The profiles as a JSON list, written to `path` if one is given.

        >>> CellBasedBenchmark().run_on("torch-cpu").to_json("cells.json")
        """
        return _write_text(as_json(self.profiles), path)


class _SuiteBenchmark:
    """A suite that ships, at one batch size.

    `seed` draws the order of the rounds and all data, and when requests arrive, which is at other
    moments in each run without one; `profile` says how long each model is measured (`glance`,
    `quick`, `brief`, …); `num_inference` is how many of its times a profile lists, evenly spread
    over all that were measured; `models` keeps a part.
    """

    suite: ClassVar[str]

    def __init__(
        self,
        seed: int | None = None,
        num_inference: int = 1000,
        *,
        batch_size: int = 1,
        profile: str = "quick",
        models: Sequence[str] | None = None,
    ) -> None:
        model_names = [name for sweep in load_suite(self.suite).sweeps for name in sweep.models]
        for name in models or ():
            if name not in model_names:
                raise PlanError(
                    f"the suite {self.suite} has no model {name!r}", suggestion(name, model_names)
                )
        if type(num_inference) is not int or num_inference < 0:
            raise PlanError(
                f"num_inference is not an integer of at least 0 (got {num_inference!r})",
                "give how many times a profile lists",
            )
        self.models = tuple(model_names if models is None else models)
        self.seed = seed
        self.num_inference = num_inference
        self.batch_size = batch_size
        self.profile = profile

    def run_on(self, device: str | Runtime, out: str | Path | None = None) -> BenchmarkResult:
        """Measure on a runtime, by its name (`ort-cpu`, `fpga:v80`) or as an object.

        `out` is a new run folder, by default one in `graphlap-results`. A model that the
        runtime can't take has a profile with its status and no times. PlanError for an
        unknown runtime or profile, ResultsError for a folder that is taken.
        """
        grid = {
            "models": self.models,
            "runtimes": [device.name if isinstance(device, Runtime) else device],
            "batch_size": [self.batch_size],
        }
        values = {"name": self.suite, "seed": self.seed, "profile": self.profile}
        plan = parse_plan({**values, "sweeps": [grid]}, f"the benchmark {self.suite}")
        with (
            create_run(plan, Path(out) if out else None) as folder,
            SweepRun(folder, describe_host()) as sweep,
        ):
            while not sweep.finished:
                sweep.step(_STEP_S)
            sweep.close(exit_code(sweep.rows(), strict=False))
            run = sweep.run
        profiles = (profile(run, case, self.num_inference) for case in run.manifest.cases)
        return BenchmarkResult(folder.path, tuple(profiles))


class LayerBasedBenchmark(_SuiteBenchmark):
    """The 60 layers of NeurIO's block-based benchmark page.

    >>> benchmark = LayerBasedBenchmark()
    >>> results = benchmark.run_on("ort-cpu")
    """

    suite = "layers"


class CellBasedBenchmark(_SuiteBenchmark):
    """The 22 cells of NeurIO's block-based benchmark page.

    >>> benchmark = CellBasedBenchmark(profile="standard")
    >>> results = benchmark.run_on("fpga:v80")
    """

    suite = "cells"


def load_results(pattern: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """The rows of run folders and of their tables as one frame: `pattern` is the path of one, a
    glob, or a list of these. Of a run's `results.csv` the full table beside it is read.

    Columns and types as `graphlap.open(RUN).rows` has them, and the names of dlmark's notebook:
    `throughput`, `memory` (the device's own in MiB where it has any, else the host's) and
    `accuracy`. `device` is never empty: a runtime with one device stands there itself. A folder
    that is still being written gives its rows so far. What is neither is passed over with one
    warning; ResultsError if nothing else matches.

    >>> load_results("graphlap-results/zoo-*").groupby("model").throughput_per_s.max()
    """
    dataframes = pandas()
    patterns = [pattern] if isinstance(pattern, str | Path) else pattern
    if not isinstance(patterns, Sequence) or not all(map(is_path, patterns)):
        raise ResultsError(f"{pattern!r} names no results", "Give a path, a pattern, or a list")
    paths = list(
        dict.fromkeys(
            _full_table(path) for name_pattern in patterns for path in _matches(name_pattern)
        )
    )
    if not paths:
        raise ResultsError("there is nothing to load", "give run folders, files or a glob")
    frames: list[pd.DataFrame] = []
    foreign: list[ResultsError] = []
    for path in paths:
        try:
            frames.append(_frame(path))
        except ResultsError as error:
            foreign.append(error)
    if not frames:
        raise foreign[0]
    if foreign:
        pattern_text = ", ".join(repr(str(name_pattern)) for name_pattern in patterns)
        message = f"{len(foreign)} of the {len(paths)} that match {pattern_text} are passed over"
        warnings.warn(f"{message}: {foreign[0].cause}", stacklevel=2)
    return _with_notebook_names(dataframes.concat(frames, ignore_index=True))


def _with_notebook_names(frame: pd.DataFrame) -> pd.DataFrame:
    """With the columns that dlmark's notebook reads; those that a table lacks are left empty."""
    full_frame = frame.reindex(columns=list(dict.fromkeys([*frame.columns, *_NOTEBOOK_SOURCES])))
    return frame.assign(
        device=full_frame["device"].fillna(full_frame["runtime"]).astype("string"),
        throughput=full_frame["throughput_per_s"],
        memory=full_frame["device_memory_peak_mib"].fillna(full_frame["rss_peak_mib"]),
        accuracy=full_frame["accuracy_top1"],
    )


def _matches(pattern: str | Path) -> list[Path]:
    """The path itself where it is there, whatever characters it has; else what the glob finds."""
    if Path(pattern).exists():
        return [Path(pattern)]
    paths = sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207
    if not paths:
        raise ResultsError(f"nothing matches {str(pattern)!r}", "give a glob of run folders")
    return [Path(name) for name in paths]


def _full_table(path: Path) -> Path:
    """Of a run's table for people the full one beside it; any other path as it is."""
    if path.name != RESULTS or not path.is_file():
        return path
    full = path.with_name(FULL_TABLE)
    return full if full.is_file() else path


def _frame(path: Path) -> pd.DataFrame:
    if path.is_dir():
        run = read_run(path)
        return run_frame(run, Rows().of(run))
    try:
        names, rows = table_of(read_file(path).decode("utf-8-sig"))
    except (OSError, ValueError, csv.Error) as error:
        raise _no_results(path, str(error)) from None
    if not set(names) >= _COMMON_COLUMNS:
        raise _no_results(path, "it lacks columns of a results.csv")
    return frame_of(rows, names)


def _no_results(path: Path, why: str) -> ResultsError:
    return ResultsError(
        f"{path} can't be read as results ({why})", "give run folders or results.csv files"
    )


def _flat(profile: dict[str, Any]) -> dict[str, Any]:
    return {
        **profile["model"],
        **{f"device_{name}": value for name, value in profile["device"].items()},
        **{f"runtime_{name}": value for name, value in profile["runtime"].items()},
        **profile["inference"],
        "status": profile["status"],
        "reason": profile["reason"],
    }


def _as_cell(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value)
    if isinstance(value, str):
        return neutralise_formula(storable(value))
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else str(value)


def _write_text(text: str, path: str | Path | None) -> str:
    if path is not None:
        try:
            write_atomically(Path(path), text.encode())
        except OSError as error:
            raise unwritable(path, error, ", or name another file") from error
    return text
