"""What a search over options shows: tables, the view of its steps, and the files in the run folder:
the ablation, the winner as a plan, how a program uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.analysis.plot_data.series import Series
from app.capabilities.tuning.answer import (
    Gain,
    Rung,
    TuneAnswer,
    TuneResults,
    case_text,
    tune_results,
    value_text,
    with_peak,
)
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import PlanError
from app.cases.objectives import Goal
from app.formatting import text
from app.formatting.text import one_line
from app.machine.installed_runtimes import runtime
from app.plan.capabilities import CAPABILITIES
from app.plan.plan import Plan
from app.plan.plan_files import plan_toml
from app.plan.settings.sweep import Sweep
from app.present.answer import Answer, CasesView
from app.present.answer import Table as ViewTable
from app.present.document import Block, Cell, Column, Heading, Points, latency_cell, names, table
from app.present.figure import Axis, Figure, Mark, Unit
from app.present.figure import Series as Marks
from app.run_folder.files import read_json
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from exporters.cache import default_root
from exporters.codec import CodecError, from_json, to_json
from runtimes.options import Settings, Used, all_options
from runtimes.registry import parse_spec

LADDER, TUNED, ANSWERS = "ladder.csv", "tuned.toml", CAPABILITIES["tune"].found_file
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


def found_steps(path: Path, run: Run) -> dict[str, TuneAnswer]:
    """By the case of the default that a search began with; {} without the file, or while it is none
    that can be read."""
    try:
        answers = from_json(_File, read_json(path)).answers
    except (OSError, ValueError, CodecError):
        return {}
    return {answer.rungs[0].case_id: answer for answer in answers if answer.rungs}


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


def ladder_tables(results: TuneResults) -> Iterator[Block]:
    """Of each model what its search came to, then the table of its steps."""
    for _, answer in results.searches:
        yield Points(tuple(answer.sentences))
        if answer.rungs:
            yield from _table(answer, results)


def _table(answer: TuneAnswer, results: TuneResults) -> Iterator[Block]:
    goal = results.goal
    heading = "inputs/s" if goal.rate else goal.name
    headings = ["step", heading, "times better", "than default", "error"]
    if goal.constraint is not None:
        headings.append(goal.constraint.name)
    top1 = any(rung.top1 is not None for rung in answer.rungs)
    headings += ["top-1"] * top1
    yield Heading(f"{answer.model}: {answer.goal}, step by step", 3)
    yield table(
        (*names("step"), Column(heading), *names(*headings[2:4]), *map(Column, headings[4:])),
        [
            (*_ladder_cells(rung, results), *[_percent_cell(rung.top1, 4)] * top1)
            for rung in answer.rungs
        ],
    )


def _ladder_cells(rung: Rung, results: TuneResults) -> Iterator[Cell | str]:
    yield rung.label
    unit = "per_s" if results.goal.rate else "us"
    yield Cell(value_text(rung.value, results.goal), rung.value, unit=unit)
    yield _gain_cell(rung.gain)
    yield _gain_cell(rung.total)
    yield _percent_cell(rung.error, 2)
    if results.goal.constraint is not None:
        yield latency_cell(rung.kept_us)


def _percent_cell(share: float | None, digits: int) -> Cell:
    return Cell(text.NOT_MEASURED if share is None else f"{100 * share:.{digits}g} %", share)


def _gain_cell(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell("")
    gain_text = str(gain) if gain.verdict == "better" else f"{gain} {gain.verdict}"
    return Cell(gain_text, gain.times, unit="times", low=gain.low, high=gain.high)


@dataclass(frozen=True, slots=True)
class TuningAnswer(Answer):
    """The best options of each model, and what each change gained."""

    run: Run
    results: TuneResults

    replaces_rows = True

    @property
    def exit_code(self) -> int:
        """1 where a search has no answer."""
        answers = (answer for _, answer in self.results.searches)
        return int(any(not answer.rungs or not answer.over for answer in answers))

    def question(self, models: str, runtimes: str) -> str:
        return f"Which runtime and options give the best {self.results.goal.name} for {models}?"

    def tables(self) -> Iterator[Block]:
        return ladder_tables(self.results)

    def sentences(self) -> Iterator[str]:
        for _, answer in self.results.searches:
            yield from answer.sentences

    def rows(self) -> Iterator[Row]:
        """Those of `ladder.csv`."""
        for _, answer in self.results.searches:
            yield from _rows(answer, self.results)

    def files(self) -> Iterator[tuple[str, bytes]]:
        return files_of(self.run, self.results)

    def complete(self) -> TuningAnswer:
        """With the host's int8 peak, which a process of its own measures once."""
        return replace(self, results=with_peak(self.results, self.run, default_root()))


def tune_answer(run: Run) -> TuningAnswer | None:
    """None where the plan has no goal; reads the samples of every round."""
    results = tune_results(run)
    return None if results is None else TuningAnswer(run, results)


class StepsView(CasesView):
    """A group of bars for each model that was searched."""

    title, place = "Ladder", "Tuning steps"
    hint = "What each step of a search over options gained, from the default to the winner."
    missing = "Search over options with --tune: when it has ended, its steps are here."

    def offers(self, series: Sequence[Series]) -> bool:
        return bool(_found_in(series))

    def figures(self, series: Sequence[Series]) -> list[Figure]:
        return [
            Figure(
                answer.model,
                Axis(*_axis_of(Goal.parse(answer.goal))),
                Axis(names=tuple(rung.label for rung in answer.rungs)),
                (Marks(key, tuple(_steps(answer)), "bars", cases=(key,)),),
            )
            for key, answer in _found_in(series)
        ]

    def heading(self, series: Sequence[Series]) -> tuple[str, str]:
        answers = [answer for _, answer in _found_in(series)]
        sentences = [answer.sentences[0] for answer in answers if answer.sentences]
        return f"Tuned for {Goal.parse(answers[0].goal)}", "; ".join(sentences)

    def table(self, series: Sequence[Series]) -> ViewTable:
        rows: list[list[object]] = [
            [answer.model, rung.label, rung.value, rung.gain and rung.gain.times,
             rung.total and rung.total.times, rung.error]
            for _, answer in _found_in(series)
            for rung in answer.rungs
        ]  # fmt: skip
        return ["model", "change", "value", "gain", "total", "max_rel_error"], rows


def _found_in(series: Sequence[Series]) -> list[tuple[str, TuneAnswer]]:
    return [(item.key, item.found["tune"]) for item in series if "tune" in item.found]


def _axis_of(goal: Goal) -> tuple[str, Unit]:
    return ("Inputs per second", "per_s") if goal.rate else (f"{goal.name} (µs)", "")


def _steps(answer: TuneAnswer) -> Iterator[Mark]:
    for row, rung in enumerate(answer.rungs):
        label = value_text(rung.value, Goal.parse(answer.goal))
        if rung.gain is not None:
            doubt = "" if rung.gain.verdict == "better" else f", {rung.gain.verdict}"
            label = f"{label}  {rung.gain} times{doubt}"
        yield Mark(rung.value or 0.0, row, label, label=label)
