"""A finished run and the first lines of its answer: what was measured, issues, fastest runtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from app.analysis.columns.latency import TIMING, UNDISTURBED
from app.analysis.columns.status import row_so_far
from app.analysis.comparison.aggregate_throughput import AggregateThroughput, throughput_over_hosts
from app.analysis.comparison.measured_case import MeasuredCase, runtime_label
from app.analysis.comparison.ranking import Fastest, fastest
from app.analysis.insights.insight import MACHINE_MOVES, Insight
from app.analysis.insights.rules import find_insights
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.jobs import Sensitivity
from app.cases.round import is_imported
from app.cases.status import INCOMPLETE
from app.formatting import text
from app.formatting.case_labels import CaseSet, model_names
from app.plan.plan import Plan
from app.present.answer import Answer, answers
from app.present.console.check import summary
from app.present.console.row_table import shown_percentiles
from app.present.console.run_comparison import Outcome
from app.present.console.run_summary import failure_causes, verdict_text
from app.present.document import Block, Paragraph
from app.run_folder.diagnostics import codes_in, warning_groups
from app.run_folder.folder import is_being_written
from app.run_folder.manifest import environments
from app.run_folder.run import Run
from app.stats.intervals import MINIMUM_ROUNDS
from exporters import diagnostics as catalogue
from exporters.model_names import is_null
from exporters.types import ExportedModel


@dataclass(frozen=True)
class RunResult:
    """`planned_rounds` is how many rounds a case was to have. `compared` is what a comparison came
    to, `answers` what was searched for, `throughputs` what several hosts serve. `shell_folder` is
    the folder of the shell that the answer is for, the current one by default. `is_live`: another
    process is measuring it."""

    run: Run
    measured: Sequence[MeasuredCase]
    planned_rounds: Callable[[Case], int]
    compared: Outcome | None = None
    answers: Sequence[Answer] = ()
    throughputs: Sequence[AggregateThroughput] = ()
    hosts_left_out: Sequence[str] = ()
    shell_folder: Path | None = None
    is_live: bool = False

    @property
    def plan(self) -> Plan:
        return self.run.manifest.requested_plan

    @cached_property
    def rows(self) -> list[Row]:
        return [measurement.row for measurement in self.measured]

    @cached_property
    def model_measurements(self) -> list[MeasuredCase]:
        """Without the no-op copies of models."""
        return [item for item in self.measured if not is_null(item.case.model)]

    @property
    def has_answer(self) -> bool:
        """Whether the plan asks another question than which runtime is fastest."""
        return self.compared is not None or any(answer.is_final for answer in self.answers)

    @property
    def replaces_rows(self) -> bool:
        """Whether the answer stands in place of medians, rankings and warnings."""
        return any(answer.replaces_rows for answer in self.answers)

    @property
    def is_imported(self) -> bool:
        """Whether all of it was measured by other programs."""
        return all(is_imported(measurement.case.runtime) for measurement in self.measured)

    @cached_property
    def contests(self) -> list[Fastest]:
        return fastest(self.model_measurements, self.plan.band)

    @cached_property
    def insights(self) -> tuple[Insight, ...]:
        return tuple(find_insights(self.model_measurements, self.cases, self.contests))

    @cached_property
    def cases(self) -> CaseSet:
        """Describes any set of the run's cases."""
        return CaseSet([measurement.case for measurement in self.measured])


def run_result(
    run: Run, measurements: Sequence[MeasuredCase], outcome: Outcome | None = None
) -> RunResult:
    """A stored run; of what a budget left out nothing is known."""
    is_live = any(map(is_being_written, run.paths))
    if is_live:
        measurements = [replace(item, row=row_so_far(item.row)) for item in measurements]
    return RunResult(
        run,
        measurements,
        lambda case: len(run.rounds_of(case)),
        outcome,
        answers=answers(run),
        throughputs=throughput_over_hosts(run, measurements),
        is_live=is_live,
    )


def cause_notes(result: RunResult) -> Iterator[Block]:
    """Of each cause why cases have no figures, or none that count, whose it is and what it is."""
    rows = [row for row in result.rows if not (result.is_live and row["status"] in INCOMPLETE)]
    yield from failure_causes(rows, result.cases)


def warning_paragraph(result: RunResult) -> Iterator[Paragraph]:
    """`warnings in 26 of 60 cases: Rounds differ (26), Outliers (12)`, with their codes."""
    counts = warning_counts(result.rows)
    if not counts:
        return
    cases = sum(bool(row["warning_codes"]) for row in result.rows)
    warning_list = ", ".join(f"{title} ({count:,})" for _, title, count in counts)
    yield Paragraph(
        f"warnings in {cases:,} of {text.counted(len(result.rows), 'case')}: {warning_list}",
        counts=tuple((code, count) for code, _, count in counts),
    )


def warning_counts(rows: Iterable[Row]) -> list[tuple[str, str, int]]:
    """The code and title of each diagnostic and how many cases have it, the most frequent first."""
    counts = [
        (group.diagnostics[0].code, catalogue.title(group.diagnostics[0]), len(group.case_ids))
        for group in warning_groups(rows)
    ]
    return sorted(counts, key=lambda entry: -entry[2])


EMPTY = "outputs_empty"
ENDS = ("_ci_low_us", "_ci_high_us")
"""What the names of an interval's columns end with."""
_FACTOR = 2.0
"""An interval that reaches further than this factor is given as one, and not in percent."""


def measured_line(result: RunResult) -> str:
    """`starter: 80 of 80 cases measured, all outputs right`."""
    rows = [measurement.row for measurement in result.model_measurements]
    cases = text.counted(len(rows), "case")
    if result.plan.check:
        return f"{result.plan.name}: {summary(rows)}"
    if result.is_imported:
        return f"{result.plan.name}: {cases} from other programs' files, never ranked"
    timed_count = sum(_is_timed(row) for row in rows)
    parts = [
        f"{timed_count:,} of {cases} measured",
        *_outputs(rows, result.plan.checked),
        *_not_timed(rows),
    ]
    return f"{result.plan.name}: {', '.join(parts)}"


_MOST_ASSUMED = 3
_NO_EFFECT, _FOLLOWS = 0.05, 0.1
"""So much of the latency is none, and what it takes to follow a value."""


def assumption_line(measurements: Sequence[MeasuredCase]) -> str:
    """`measured with num_points 2 (assumed; set with --input-range or --axis)`, by model where
    their assumptions differ; "" where nothing was assumed."""
    own = [item for item in measurements if not is_null(item.case.model)]
    found: dict[str, str] = {}
    for row in (item.row for item in own if item.row.get("assumed")):
        found.setdefault(str(row["model"]), str(row["assumed"]))
    if not found or all(is_imported(item.case.runtime) for item in measurements):
        return ""
    parts = _by_model(found, own)
    rest = len(parts) - _MOST_ASSUMED
    more = f" and {rest} more" if rest > 0 else ""
    shown = "; ".join(parts[:_MOST_ASSUMED])
    return f"measured with {shown}{more} (assumed; set with --input-range or --axis)"


def effect_lines(
    measurements: Sequence[MeasuredCase], effects: Mapping[str, Sensitivity]
) -> Iterator[str]:
    """`latency follows orig_im_size: 4.1 times at 2x; num_points has no effect`, a line for each
    model of which assumed values were doubled."""
    own = [item for item in measurements if not is_null(item.case.model)]
    found: dict[str, str] = {}
    for item in own:
        if (line := effects.get(item.case.case_id)) and line.factors:
            parts = [_effect(name, factor) for name, factor in line.factors.items()]
            parts += [f"{line.left_out} more not tried"] * bool(line.left_out)
            found[item.case.model] = "; ".join(parts)
    yield from _by_model(found, own)


def _by_model(texts: Mapping[str, str], measurements: Iterable[MeasuredCase]) -> list[str]:
    """The text of each model, behind its name where several are measured."""
    is_one, names = len({item.case.model for item in measurements}) == 1, model_names(texts)
    return [words if is_one else f"{names[m]}: {words}" for m, words in texts.items()]


def _effect(name: str, factor: float | None) -> str:
    """What twice the value comes to."""
    if factor is None:
        return f"{name} takes no other size"
    times = f"{text.significant(factor, 2 if factor < 10 else 3)} times at 2x"
    if abs(factor - 1) <= _NO_EFFECT:
        return f"{name} has no effect"
    follows = abs(factor - 1) > _FOLLOWS
    return f"latency follows {name}: {times}" if follows else f"{name} has little effect: {times}"


def trust_line(result: RunResult) -> str:
    """The machine, and how far the medians and the tails reach that it gave; whether all of them
    hold only for the states that it passed through."""
    rows = [
        measurement.row
        for measurement in result.model_measurements
        if measurement.row["clock"] in TIMING and _is_timed(measurement.row)
    ]
    if not rows:
        clocks = {item.row["clock"] for item in result.model_measurements if _is_timed(item.row)}
        is_simulated = clocks == {"simulated"}
        return "simulated: no figure depends on this machine" if is_simulated else ""
    hosts = environments(result.run.manifest, result.run.environments, rows)
    names = shown_percentiles(result.plan.percentiles)[:2]
    parts = _precision_parts([row for row in rows if row["scenario"] != "ahead"], names)
    if parts and any(insight.kind == MACHINE_MOVES for insight in result.insights):
        parts.append("while the machine changed")
    return ": ".join(filter(None, (_machines(hosts), ", ".join(parts))))


_INPUT_LINES = 4
"""So many models are named one by one."""


def input_lines(models: Collection[ExportedModel]) -> Iterator[str]:
    """What files the models were fed with, the user's own or those beside a model, and why other
    data beside it was not used."""
    lines = dict[str, None]()
    several = len({model.name for model in models}) > 1
    for model in models:
        prefix = f"inputs of {model.name}" if several else "inputs"
        refusals = [entry for entry in model.warnings if entry.code == "data_beside_unused"]
        if model.input_files:
            lines[f"{prefix}: {model.inputs_drawn}"] = None
        lines |= {f"{prefix}: drawn. {catalogue.message(entry)}": None for entry in refusals}
    shown, others = list(lines)[:_INPUT_LINES], list(lines)[_INPUT_LINES:]
    yield from shown
    if others:
        yield f"inputs of {text.counted(len(others), 'other model')}: see the column inputs_drawn"


def _is_timed(row: Row) -> bool:
    return bool(row["iterations"]) or row["latency_p50_us"] is not None


def _outputs(rows: Sequence[Row], checked: bool) -> list[str]:
    """What the check of outputs came to."""
    if not checked:
        return ["outputs not checked (--no-verify-outputs)"]
    timed = [row for row in rows if _is_timed(row)]
    wrong = sum(row["output_ok"] is False or row["status"] == "wrong_output" for row in rows)
    unchecked = sum(row["output_ok"] is None for row in timed)
    doubts = _unconfirmed(timed)
    if timed and not (wrong or unchecked or doubts):
        return ["all outputs right"]
    parts = [f"{wrong:,} with wrong outputs"] if wrong else []
    parts += doubts
    if unchecked:
        everything = unchecked == len(timed) and not wrong
        parts.append("outputs not checked" if everything else f"{unchecked:,} not checked")
    return parts


_CONFIRM_NOTHING = frozenset({EMPTY, "outputs_say_nothing"})


def _unconfirmed(rows: Sequence[Row]) -> list[str]:
    """How many right outputs no independent reference supports, or two contradict."""
    right = [row for row in rows if row["output_ok"] is True]
    disputed = sum(row["output_disputed"] is True for row in right)
    own = sum(row["only_own_reference"] is True and not row["output_disputed"] for row in right)
    empty = sum(not _CONFIRM_NOTHING.isdisjoint(codes_in(row["warning_codes"])) for row in right)
    counts = {
        "outputs of {} disputed": disputed,
        "{} checked by its own engine only": own,
        "outputs of {} confirm nothing": empty,
    }
    return [text.format(f"{count:,}") for text, count in counts.items() if count]


def _not_timed(rows: Sequence[Row]) -> list[str]:
    """How many cases ended in each way without figures."""
    statuses = Counter(str(row["status"]) for row in rows if not _is_timed(row))
    statuses.pop("wrong_output", None)
    return [f"{n:,} {name.replace('_', ' ')}" for name, n in statuses.items()]


def _machines(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """One machine by what it is, several by their names."""
    if len(hosts) > 1:
        return f"{len(hosts)} machines ({', '.join(hosts)})"
    host: Mapping[str, Any] = next(iter(hosts.values()), {})
    facts = [str(host.get("cpu") or "this machine")]
    cores, load = host.get("cores_usable"), host.get("load_1min")
    if isinstance(cores, int):
        facts.append(text.counted(cores, "core"))
    if host.get("virtual_machine") is True:
        facts.append("virtual machine")
    if isinstance(load, int | float):
        facts.append(f"load {load:.1f} at the start")
    return ", ".join(facts)


def _precision_parts(rows: Sequence[Row], names: Iterable[str]) -> list[str]:
    """How far the 95 % intervals of these percentiles reach."""
    most_rounds = max((int(number_of(row["rounds"]) or 0) for row in rows), default=0)
    if 0 < most_rounds < MINIMUM_ROUNDS:
        rounds_text = text.counted(most_rounds, "round")
        return [f"with {rounds_text} the variation between processes is unknown"]
    return [part for name in names if (part := _precision_of(rows, name))]


def _precision_of(rows: Sequence[Row], name: str) -> str:
    timed_rows = [row for row in rows if row.get(f"latency_{name}_us") is not None]
    starts = [quoted_p50(row) if name == _PERCENTILE else f"latency_{name}" for row in timed_rows]
    pairs = zip(timed_rows, starts, strict=True)
    factors = sorted(factor for pair in pairs if (factor := _factor(*pair)) is not None)
    if not factors:
        too_few = f"no {name}: too few runs" * bool(rows)
        return f"{name} without interval" if timed_rows else too_few
    typical, worst = median(factors), factors[-1]
    sentence = f"{name} within {_precision_text(typical)}"
    if _precision_text(worst) != _precision_text(typical):
        sentence += f" (worst: {_precision_text(worst)})"
    missing = len(rows) - len(factors)
    return f"{sentence}, unknown in {missing:,} of {len(rows):,}" if missing else sentence


def _factor(row: Row, start: str) -> float | None:
    """By which factor the interval of what such columns have reaches beyond it, at the farther
    end."""
    value, low, high = (number_of(row.get(start + end)) for end in ("_us", *ENDS))
    if not value or not low or not high:
        return None
    return max(value / low, high / value)


def _precision_text(factor: float) -> str:
    if factor > _FACTOR:
        return f"a factor of {text.significant(factor, 2)}"
    return f"±{text.significant(100 * (factor - 1), 2 if factor >= 1.1 else 1)}%"


_MAXIMUM_SENTENCES = 3
"""So many comparisons are each a sentence."""
_PERCENTILE = "p50"
_MAXIMUM_ROUNDS = 100


def quoted_p50(row: Row) -> str:
    """The columns of the median that the answer has of a case, by what their names begin with: that
    at the core's typical clock, else the undisturbed one of a machine of two speeds, since the
    median of processes may lie between them, where no run was."""
    if row.get("typical_clock_p50_us"):
        return "typical_clock_p50"
    return "undisturbed_p50" if row.get("level_seen") == UNDISTURBED else "latency_p50"


def _speeds_sentences(measurements: Sequence[MeasuredCase]) -> Iterator[str]:
    """`two speeds in 2 of 5: undisturbed 20 to 36 % of time, else x1.25 to 1.7`, and how many p50s
    are at a core's typical clock; of a run of one case with its p50."""
    timed_rows = [item.row for item in measurements if item.row["clock"] in TIMING]
    by_level = [row for row in timed_rows if row.get("level_seen")]
    by_level = [row for row in by_level if row["level_seen"] == UNDISTURBED] or by_level
    by_clock = [row for row in timed_rows if row.get("typical_clock_p50_us")]
    is_shared = any(row.get("core_shared_fraction") for row in by_level)
    speeds = "core shared with another hardware thread" if is_shared else "two speeds"
    for seen, what, write in (
        (by_level, speeds, _speeds_text),
        (by_clock, "p50 at the core's typical clock", _clock_text),
    ):
        if seen:
            count = f" in {len(seen):,} of {len(timed_rows):,}" * (len(timed_rows) > 1)
            yield f"{what}{count}: {write(seen, not count)}"


def _clock_text(rows: Sequence[Row], has_figure: bool) -> str:
    clocks_mhz = [number_of(row["typical_clock_mhz"]) or 0.0 for row in rows]
    clock = f"{_range_text(clocks_mhz, lambda mhz: text.significant(mhz / 1e3))} GHz"
    return clock + _figure_text(rows[0], "typical_clock_p50") * has_figure


def _figure_text(row: Row, name: str) -> str:
    reach = _factor(row, name)
    precision = f" {_precision_text(reach)}" if reach is not None else ""
    return f" {text.latency(number_of(row[f'{name}_us']))}{precision}"


def _speeds_text(rows: Sequence[Row], has_figure: bool) -> str:
    first = rows[0]
    level = UNDISTURBED if first["level_seen"] == UNDISTURBED else "fastest level seen"
    if has_figure:
        level += f"{_figure_text(first, 'undisturbed_p50')},"
    shares, factors = (
        [number_of(row[name]) or 0.0 for row in rows]
        for name in ("undisturbed_fraction", "disturbed_factor")
    )
    share_text, factor_text = (
        _range_text(values, write)
        for values, write in ((shares, _percent), (factors, text.significant))
    )
    return f"{level} {share_text} % of time, else x{factor_text}"


def _range_text(values: Sequence[float], write: Callable[[float], str]) -> str:
    return " to ".join(dict.fromkeys(write(end) for end in (min(values), max(values))))


def _percent(share: float) -> str:
    return text.significant(100 * share, 2)


def leader_sentences(result: RunResult, labels: Mapping[str, str]) -> Iterator[str]:
    """One for each comparison of a few, else one for each kind of them, and why too few rounds
    decide nothing. `labels` are those of the answer's lines, by case id."""
    main = [
        contest for contest in result.contests if not (contest.simulated or contest.between_hosts)
    ]
    contests_by_kind = {
        "simulated": [contest for contest in result.contests if contest.simulated],
        "hosts": [contest for contest in result.contests if contest.between_hosts],
    }
    if len(main) <= _MAXIMUM_SENTENCES:
        yield from (
            f"{labels.get(contest.ranking[0], contest.label)}: "
            f"{verdict_text(contest, result.plan.band)}"
            for contest in main
        )
    else:
        yield _counts(main)
        yield from _trailing_runtimes(main, result.model_measurements)
    for kind, contests in contests_by_kind.items():
        if len(contests) == 1:
            yield f"{contests[0].label}: {verdict_text(contests[0], result.plan.band)}"
        elif contests:
            yield f"{kind}: {_counts(contests)}"
    yield from _verdict_obstacle(result.contests)
    yield from _speeds_sentences(result.model_measurements)


def rounds_to_decide(contests: Sequence[Fastest]) -> tuple[dict[int, int], int] | None:
    """By numbers of rounds, how many undecided comparisons each may decide, and of how many; None
    where no sensible number does. The first is for all that are not hopeless, else for half of
    them; the other, if there is one, for the cheapest."""
    open_contests = _open_contests(contests)
    needed_rounds = sorted(
        contest.needed for contest in open_contests if contest.needed is not None
    )
    for rounds in (
        needed_rounds[-1:],
        needed_rounds[(len(needed_rounds) - 1) // 2 : len(needed_rounds)][:1],
    ):
        if rounds and rounds[0] <= _MAXIMUM_ROUNDS:
            decided = {
                count: sum(number <= count for number in needed_rounds)
                for count in (rounds[0], needed_rounds[0])
            }
            return decided, len(open_contests)
    return None


def _open_contests(contests: Sequence[Fastest]) -> list[Fastest]:
    return [c for c in contests if not c.parted and c.verdict.word != "same" and not c.is_unpaired]


def _counts(contests: Sequence[Fastest]) -> str:
    """`ort-cpu is fastest in 14 of 20, openvino-cpu in 4; no difference in 1; undecided in 1`."""
    wins = Counter(contest.first for contest in contests if contest.parted)
    ties = sum(not contest.parted and contest.verdict.word == "same" for contest in contests)
    open_contests = [
        contest for contest in contests if not contest.parted and contest.verdict.word != "same"
    ]
    total, parts = f"{len(contests):,}", []
    if wins:
        (leader, win_count), *runners_up = wins.most_common()
        win_texts = [f"{leader} is fastest in {win_count:,} of {total}"]
        parts.append(
            ", ".join([*win_texts, *(f"{name} in {count:,}" for name, count in runners_up)])
        )
    if ties:
        parts.append(f"no difference in {ties:,}{'' if wins else f' of {total}'}")
    if open_contests:
        leads = ", ".join(
            f"{name} leads {count:,}"
            for name, count in Counter(contest.first for contest in open_contests).most_common()
        )
        is_all = len(open_contests) == len(contests)
        count_text = f"all {total}" if is_all else f"{len(open_contests):,}"
        parts.append(f"undecided in {count_text} ({leads})")
    return "; ".join(parts)


def _trailing_runtimes(
    contests: Sequence[Fastest], measurements: Sequence[MeasuredCase]
) -> Iterator[str]:
    """`slower than the fastest wherever compared: torch-cpu (2.0 to 6.6 times the p50)`."""
    by_id = {item.case.case_id: item for item in measurements}
    times: dict[str, list[float]] = {}
    others = set[str]()
    for contest in contests:
        minimum = by_id[contest.ranking[0]].value_us(_PERCENTILE)
        for case_id in contest.ranking:
            name, value = runtime_label(by_id[case_id].row), by_id[case_id].value_us(_PERCENTILE)
            if minimum and value and case_id in contest.slower:
                times.setdefault(name, []).append(value / minimum)
            else:
                others.add(name)
    texts = [
        f"{name} ({_times(ratios)} times the p50)"
        for name, ratios in times.items()
        if name not in others
    ]
    if texts:
        yield f"slower than the fastest wherever compared: {', '.join(texts)}"


def _times(ratios: Sequence[float]) -> str:
    low, high = (text.significant(ratio, 2) for ratio in (min(ratios), max(ratios)))
    return low if low == high else f"{low} to {high}"


def _verdict_obstacle(contests: Sequence[Fastest]) -> Iterator[str]:
    """Why too few rounds decide nothing."""
    rounds = max((contest.rounds for contest in _open_contests(contests)), default=MINIMUM_ROUNDS)
    if rounds < MINIMUM_ROUNDS:
        rounds_text = text.counted(rounds, "round")
        yield f"no verdict with {rounds_text}: the variation between processes is unknown"
