"""Files of a search over options: its ablation, the winner as a plan, how a program uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.capabilities.tuning.answer import Gain, TuneAnswer, TuneResults, case_text
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import PlanError
from app.formatting.text import one_line
from app.machine.installed_runtimes import runtime
from app.plan.plan import Plan
from app.plan.plan_files import plan_toml
from app.plan.settings.sweep import Sweep
from app.run_folder.files import read_json
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from exporters.codec import CodecError, from_json, to_json
from runtimes.options import Settings, all_options
from runtimes.registry import parse_spec
from runtimes.snippets import Used

LADDER, TUNED, ANSWERS = "ladder.csv", "tuned.toml", "tune.json"
PYTHON, TRITON = "tuned.py", "config.pbtxt"
COLUMNS = (
    *("model", "step", "change", "case_id", "figure", "value"),
    *("gain", "gain_low", "gain_high", "verdict"),
    *("total", "total_low", "total_high", "total_verdict", "max_rel_error", "kept_us"),
    "accuracy_top1",
)


@dataclass(frozen=True, slots=True)
class _File:
    answers: tuple[TuneAnswer, ...]


def files_of(run: Run, results: TuneResults) -> Iterator[tuple[str, bytes]]:
    """Names in the run folder and what is in them.

    While a search is not over its plan and its program are of the default, unless the final rounds
    so far show the winner to be better.
    """
    answers = tuple(answer for _, answer in results.searches)
    yield ANSWERS, json.dumps(to_json(_File(answers)), indent=1).encode()
    rows = [row for answer in answers for row in _rows(answer, results)]
    if rows:
        yield LADDER, to_csv(rows, COLUMNS)
    winners = [state.choice for state, _ in results.searches]
    # TOML has no form for a name that is no text; all else of the answer has it.
    with suppress(PlanError):
        yield TUNED, plan_toml(_plan(run.manifest.requested_plan, winners)).encode()
    for number, case in enumerate(winners):
        for name, program in _programs(run, case):
            path = Path(name)
            several = f"-{number + 1}" if len(winners) > 1 else ""
            yield f"{path.stem}{several}{path.suffix}", program.encode()


def read_answers(path: Path) -> tuple[TuneAnswer, ...]:
    """() without the file, or while it is none that can be read."""
    try:
        return from_json(_File, read_json(path)).answers
    except (OSError, ValueError, CodecError):
        return ()


def _rows(answer: TuneAnswer, results: TuneResults) -> Iterator[Row]:
    figure = "inputs_per_s" if results.goal.rate else f"{results.goal.name}_us"
    for number, rung in enumerate(answer.rungs):
        yield {
            "model": answer.model,
            "step": number,
            "change": rung.label,
            "case_id": rung.case_id,
            "figure": figure,
            "value": rung.value,
            **_gain_columns("gain", rung.gain, "verdict"),
            **_gain_columns("total", rung.total, "total_verdict"),
            "max_rel_error": rung.error,
            "kept_us": rung.kept_us,
            "accuracy_top1": rung.top1,
        }


def _gain_columns(name: str, gain: Gain | None, verdict: str) -> Row:
    if gain is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high", verdict))
    return {
        name: gain.times,
        f"{name}_low": gain.low,
        f"{name}_high": gain.high,
        verdict: gain.verdict,
    }


def _plan(plan: Plan, winners: list[Case]) -> Plan:
    """What the search asked for of each model, with its winner's values alone."""
    grids = tuple(
        Sweep(
            models=(case.model,),
            runtimes=(case.runtime,),
            precisions=(case.precision,),
            axes={name: (size,) for name, size in case.axes.items()},
            threads=(case.threads,),
            options={
                f"{parse_spec(case.runtime).name}.{name}": (value,)
                for name, value in case.options.items()
            },
            scenarios=(str(case.scenario),),
            wait_policy=case.wait_policy,
        )
        for case in winners
    )
    return plan.model_copy(
        update={"tune": "", "max_error": None, "budget_s": None, "name": "tuned", "sweeps": grids}
    )


def _programs(run: Run, case: Case) -> Iterator[tuple[str, str]]:
    """How the runtime says that a program uses these settings, as far as it does."""
    model = run.model_of(case)
    if model is None:
        return
    provider = runtime(parse_spec(case.runtime).name)
    options = all_options(provider.options, case.options)
    settings = Settings(case.precision, case.threads, options=options)
    usage = provider.usage(Used(model.at(case.axes), settings))
    header = f"# {one_line(case_text(case))}: {one_line(case.model)}\n"
    for name, program in ((PYTHON, usage.python), (TRITON, usage.triton)):
        if program:
            yield name, header + program
