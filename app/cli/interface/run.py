"""`graphlap.run`, `check`, `tune`, `slo` and `compare`: the commands as functions."""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from app.analysis.comparison.judge import Comparison
from app.cases.errors import PlanError
from app.cases.objectives import BAND
from app.cli.headless import measure
from app.cli.interface.models import Models, words_of
from app.cli.interface.settings import plan_of
from app.cli.notebook import OpenedRun, comparison_frame
from app.cli.notebook import open as open_run
from app.plan.settings.table import accepted_by, names_of
from app.plan.settings_page import COMPLETION
from app.present.console.answer.outcome import INTERRUPTED, RunOutput
from app.present.console.export_formats import formats_of
from app.present.console.run_comparison import compare as compared
from app.present.console.run_comparison import comparer_of
from app.present.console.streams import ResilientStream
from app.present.console.verdicts import comparison_blocks
from app.present.terminal import as_text
from app.run_folder.files import is_path
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling.shares import cluster_of

if TYPE_CHECKING:
    import pandas as pd

    from app.cli.interface.setting_types import CheckSettings, RunSettings

_WIDTH = 80


def run(
    models: Models,
    *,
    out: str | Path | None = None,
    progress: bool = False,
    **settings: Unpack[RunSettings],
) -> OpenedRun:
    """Measure models and return the run, which is in the folder `out`, by default a new one in
    `graphlap-results`.

    A model is a path, a pattern, a name of the catalogue, `file.py:factory`, an `onnx.ModelProto`,
    a torch module with example inputs, or a function that returns these two. Names of settings are
    the keys of plan files. With `progress` the rounds are listed on the standard error.

    The run is compared with the stored run `against`; `history` is a folder of earlier runs that
    show how far two runs differ. With `fail_on="slower"` the `exit_code` is 3 if a case is slower
    than that run or than its `baseline`; `trust_project` lets the file of a project set what can
    change that, and `allow_mixed` lets a gate judge rounds of several machines or engine versions.
    `export` are formats of further files in the folder, such as `csv`. PlanError
    for what can't be measured, ResultsError for a folder that is taken, KeyboardInterrupt after
    Ctrl-C, once what was measured is stored.

    >>> graphlap.run("net.onnx", runtimes=["ort-cpu", "openvino-cpu"], batch_size=[1, 8])
    """
    return _run_measurement("run", models, out, progress, settings, {})


def check(
    models: Models,
    *,
    out: str | Path | None = None,
    progress: bool = False,
    **settings: Unpack[CheckSettings],
) -> OpenedRun:
    """Compile each case as far as this machine can, and measure nothing.

    >>> graphlap.check("net.onnx", runtimes="all").rows[["runtime", "status", "reason"]]
    """
    return _run_measurement("check", models, out, progress, settings, {"check": True})


def tune(
    models: Models,
    goal: str,
    *,
    out: str | Path | None = None,
    progress: bool = False,
    **settings: Unpack[RunSettings],
) -> OpenedRun:
    """Search runtimes and their options for the best `p99`, `mean` or `throughput`.

    >>> graphlap.tune("net.onnx", "p99", budget_s="5m").summary()
    """
    return _run_measurement("tune", models, out, progress, settings, {"tune": goal})


def slo(
    models: Models,
    target: str,
    *,
    out: str | Path | None = None,
    progress: bool = False,
    **settings: Unpack[RunSettings],
) -> OpenedRun:
    """Search for the highest rate of requests that meets a target such as `p99=5ms`.

    >>> graphlap.slo("net.onnx", "p99=5ms", runtimes="ort-cpu").summary()
    """
    return _run_measurement("slo", models, out, progress, settings, {"slo": target})


class RunComparison:
    """Two runs, case by case: `found` is what was judged."""

    def __init__(self, comparison: Comparison) -> None:
        self.found = comparison

    @property
    def rows(self) -> pd.DataFrame:
        """A line for each case and figure that both runs measured, as `OpenedRun.compare` has."""
        return comparison_frame(self.found)

    def summary(self) -> str:
        """What `graphlap compare` prints."""
        return as_text(comparison_blocks(self.found), _WIDTH)

    def __repr__(self) -> str:
        return self.summary()


def compare(
    before: OpenedRun | str | Path,
    after: OpenedRun | str | Path,
    *,
    threshold: float = BAND,
    history: str | Path | None = None,
) -> RunComparison:
    """The second run against the first; a change within the threshold is none. `history` is a
    folder of earlier runs that show how far two runs of the machine differ; without one, those
    beside the two are read. PlanError for runs without a common case.

    >>> print(graphlap.compare("runs/before", "runs/after").summary())
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise PlanError(f"threshold is no number (got {threshold!r})", "give 0.02 for 2%")
    if not 0.0 <= threshold < 1.0:
        raise PlanError(f"threshold is no share below 1 (got {threshold!r})", "give 0.02 for 2%")
    first, second = (_folder(side) for side in (before, after))
    past_folder = None if history is None else str(history)
    return RunComparison(compared(first, second, band=threshold, past=past_folder))


def _folder(side: object) -> str:
    if isinstance(side, OpenedRun):
        if side.run.parts:
            raise PlanError("compare: a side is of several run folders", "Use OpenedRun.compare")
        return str(side.run.path)
    if not is_path(side):
        raise PlanError(f"{side!r} is no run", "give a run, or the path of its folder")
    return str(side)


def _completion(command: str, settings: dict[str, Any]) -> argparse.Namespace:
    """The flags of what is done with a run that has ended, with the names of formats read; the
    settings lose theirs."""
    flags = argparse.Namespace(format="table", **dict.fromkeys(names_of(accepted_by("run"))))
    for name in names_of(accepted_by(command)).intersection(COMPLETION):
        setattr(flags, name, settings.pop(name, None))
    if flags.against is not None:
        flags.against = _folder(flags.against)
    if flags.history is not None:
        flags.history = str(flags.history)
    formats = flags.export or ()
    names = [formats] if isinstance(formats, str) else formats
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise PlanError(f"export names no format (got {formats!r})", 'give "csv", or a list')
    flags.export = formats_of(",".join(names) or None)
    return flags


def _run_measurement(
    command: str,
    models: Models,
    out: str | Path | None,
    progress: bool,
    settings: Mapping[str, Any],
    question: Mapping[str, Any],
) -> OpenedRun:
    start_s = time.monotonic()
    if out is not None and not is_path(out):
        raise PlanError(f"out is no path (got {out!r})", "give the folder of the run")
    of_plan = dict(settings)
    completion = _completion(command, of_plan)
    plan, layers = plan_of(command, words_of(models), of_plan, question)
    comparer = comparer_of(completion, plan, layers)
    log = sys.stderr if progress else ResilientStream(None)
    with (
        cluster_of(plan) as cluster,
        create_run(
            plan, Path(out) if out is not None else None, cluster, comparer.reject_useless
        ) as folder,
    ):
        output = RunOutput(formats=completion.export, out=io.StringIO(), log=log)
        make_run = partial(SweepRun, cluster=cluster, start_s=start_s)
        code = measure(folder, output, comparer, make_run=make_run)
    if code == INTERRUPTED:
        raise KeyboardInterrupt(f"the run is stored so far: graphlap resume {folder.path}")
    found = open_run(folder.path)
    found.exit_code = code
    return found
