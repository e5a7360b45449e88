"""The answer of a search over options: its ablation, and its distance from the int8 peak.

The peak is measured by a process with an engine in it, once for each host, and kept.
"""

from __future__ import annotations

import socket
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from app.analysis.comparison.judge import interval_note
from app.capabilities.tuning.search import Tuned, tunings
from app.cases.case import Case
from app.cases.jobs import AccuracyResult
from app.cases.objectives import Goal
from app.formatting import text
from app.formatting.case_labels import model_labels
from app.machine.host_peaks import kept_peak
from app.machine.installed_runtimes import clock_of, runtime
from app.machine.placement import usable_cores
from app.run_folder.run import Run
from app.stats.option_search.ablation import Step
from app.stats.option_search.space import BATCH, OPTION, PRECISION, RUNTIME, THREADS, Choice
from app.stats.verdict import Verdict
from exporters import install_layout
from exporters.types import ExportedModel
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times better, with the ends of the interval that decided the verdict, None with too
    few rounds."""

    times: float
    low: float | None
    high: float | None
    verdict: str

    def __str__(self) -> str:
        interval_text = ""
        if self.low is not None and self.high is not None:
            interval_text = f" ({text.ratio_interval(self.low, self.high)})"
        return f"{text.significant(self.times)}{interval_text}"


@dataclass(frozen=True, slots=True)
class Rung:
    """`label` says what changes, `value` is inputs in a second or microseconds, as the goal asks.

    `gain` is over the rung before, `total` over the default; None of the default. `error` is how
    far outputs are off, of the largest, `kept_us` the latency that the goal bounds, `top1` the
    share of labelled data that is answered rightly; None where there is none.
    """

    label: str
    case_id: str
    value: float | None
    gain: Gain | None
    total: Gain | None
    error: float | None
    kept_us: float | None
    top1: float | None = None


@dataclass(frozen=True, slots=True)
class TuneAnswer:
    """One model's search: its rungs, and sentences that say how far to trust them.

    `shown`: the last rung is shown to be better than the default.
    """

    model: str
    goal: str
    rungs: tuple[Rung, ...]
    sentences: tuple[str, ...]
    shown: bool
    over: bool


@dataclass(frozen=True, slots=True)
class TuneResults:
    """All of a run, with how far each has come."""

    goal: Goal
    searches: tuple[tuple[Tuned, TuneAnswer], ...]


def tune_results(run: Run) -> TuneResults | None:
    """None of a plan that asks for no search; reads the samples of every round."""
    plan = run.manifest.requested_plan
    goal = plan.goal
    if goal is None:
        return None
    searches = tunings(run)
    names = model_labels(search.space.base.model for search in searches)
    answers = []
    for search in searches:
        state = search.of(run)
        answers.append((state, _answer(names[search.space.base.model], state, goal, run)))
    return TuneResults(goal, tuple(answers))


def value_text(value: float | None, goal: Goal) -> str:
    """`727/s`, or `12.3 ms`."""
    return text.rate_text(value) if goal.rate else text.latency(value)


def case_text(case: Case) -> str:
    """`openvino-cpu int8, batch 16, 2 threads, streams=2`."""
    sizes = [f"{name} {size}" for name, size in sorted(case.axes.items())]
    threads = _choice_text((THREADS, case.threads))
    options = [f"{name}={value}" for name, value in sorted(case.options.items())]
    return ", ".join([f"{case.runtime} {case.precision}", *sizes, threads, *options])


def _answer(model: str, state: Tuned, goal: Goal, run: Run) -> TuneAnswer:
    ladder = state.ladder
    rungs = tuple(
        replace(_rung(step, state, goal), top1=_top1(run, step.case))
        for step in (ladder.steps if ladder else ())
    )
    is_over = state.following is None
    return TuneAnswer(
        model, str(goal), rungs, tuple(_sentences(model, state, goal)), state.is_proven, is_over
    )


def _top1(run: Run, case: Case) -> float | None:
    accuracy = run.result_of(AccuracyResult, case)
    return None if accuracy is None else accuracy.top1


def _rung(step: Step, state: Tuned, goal: Goal) -> Rung:
    label = f"default: {case_text(step.case)}" if step.choice is None else _choice_text(step.choice)
    value = step.cost
    if value and goal.rate:
        value = 1e6 / value
    case_id = step.case.case_id
    return Rung(
        label,
        case_id,
        value,
        _gain(step.previous),
        _gain(step.default),
        state.errors.get(case_id),
        state.kept_us.get(case_id),
    )


_BETTER = {"faster": "better", "slower": "worse"}


def _gain(verdict: Verdict | None) -> Gain | None:
    """Costs are compared, of which less is better."""
    if verdict is None or verdict.ratio is None:
        return None
    ends = verdict.interval
    word = _BETTER.get(verdict.word, verdict.word)
    if ends is None:
        return Gain(1.0 / verdict.ratio, None, None, word)
    return Gain(1.0 / verdict.ratio, 1.0 / ends.high, 1.0 / ends.low, word)


def _choice_text(choice: Choice) -> str:
    name, value = choice
    if name == THREADS:
        if not value:
            return "threads as the engine likes"
        return text.counted(int(value), "thread")
    if name in (RUNTIME, PRECISION):
        return str(value)
    if name == BATCH:
        return f"batch {value}"
    return f"{name.removeprefix(OPTION)}={value}"


def _sentences(model: str, state: Tuned, goal: Goal) -> list[str]:
    ladder = state.ladder
    if ladder is None:
        if state.following is not None:
            return [_unfinished_sentence(model, state, goal), _effort(state)]
        return [f"{model}: nothing that was tried may win", _effort(state)]
    sentences = [_verdict_sentence(model, state, goal)]
    if ladder.rival_verdict is not None and ladder.rival is not None:
        sentences.append(_rival_sentence(case_text(ladder.rival), ladder.rival_verdict))
    if ladder.again is not None:
        sentences.append(_against_itself(ladder.again, ladder.noise))
    doubtful_labels = [
        rung.label
        for rung in (_rung(step, state, goal) for step in ladder.steps[1:])
        if rung.gain is None or rung.gain.verdict != "better"
    ]
    if doubtful_labels and state.is_proven:
        sentences.append(f"not shown to help by itself: {', '.join(doubtful_labels)}")
    note = interval_note(
        verdict
        for verdict in (
            *(step.previous for step in ladder.steps),
            *(step.default for step in ladder.steps),
            ladder.rival_verdict,
            ladder.again,
        )
        if verdict is not None
    )
    sentences += [note] if note else []
    sentences.append(_effort(state))
    if state.following is not None:
        sentences.append("the final rounds are not all there: resume the run")
    return sentences


def _unfinished_sentence(model: str, tuned: Tuned, goal: Goal) -> str:
    """The best of a search that has no final rounds yet."""
    summary = f"{model} was not searched to the end: resume the run"
    if tuned.lead_cost is None:
        return f"{summary}; no configuration leads so far"
    value = value_text(1e6 / tuned.lead_cost if goal.rate else tuned.lead_cost, goal)
    if tuned.lead.case_id == tuned.space.base.case_id:
        return f"{summary}; best so far is the default, {value}"
    comparison = ""
    if tuned.lead_gain is not None:
        times = text.significant(tuned.lead_gain)
        comparison = f", {times} times better than the default in the rounds by which it was chosen"
    return f"{summary}; best so far is {case_text(tuned.lead)}, {value}{comparison}"


def _verdict_sentence(model: str, state: Tuned, goal: Goal) -> str:
    ladder = state.ladder
    assert ladder is not None, "there is a ladder"
    total = _gain(ladder.winner.default)
    if ladder.steps[0].cost is None:
        reason = state.left_out.get(state.space.base.case_id, "it was not measured")
        return f"{model}: the default has no figure ({reason}); {case_text(state.lead)} has one"
    if total is None:
        if len(ladder.steps) == 1:
            return f"{model}: nothing was found that is better than the default"
        return f"{model}: too few rounds compare the winner with the default"
    gain_text = f"{total} times the {goal.name} of the default"
    if not goal.rate:
        gain_text = f"{goal.name} {total} times shorter than the default's"
    if not state.is_proven:
        return f"{model}: {case_text(state.lead)} is not shown to be better: {gain_text}"
    return f"{model}: {case_text(state.lead)} has {gain_text}"


def _rival_sentence(rival: str, verdict: Verdict) -> str:
    gain = _gain(verdict)
    if gain is None:
        return f"the runner-up {rival} has too few rounds to be compared"
    if gain.verdict == "better":
        return f"the runner-up {rival} turned out better, {gain} times: more --rounds or --budget"
    if gain.verdict == "worse":
        return f"the runner-up {rival} is worse: {gain} times the winner"
    if gain.verdict == "same":
        return f"the runner-up {rival} is the same within the band: {gain} times"
    return f"the runner-up {rival} can't be distinguished from it: {gain} times"


def _against_itself(verdict: Verdict, noise: float | None) -> str:
    gain = _gain(verdict)
    if gain is None:
        return "the winner against itself has too few rounds to be compared"
    differ = "" if noise is None else f"; its rounds differ by {text.share(noise)}"
    if gain.verdict in ("better", "worse"):
        return (
            f"the winner differs from itself, {gain} times: this machine is too restless "
            f"to trust a gain of that size{differ}"
        )
    return f"the winner against itself: {gain} times, no difference{differ}"


def _effort(state: Tuned) -> str:
    summary = (
        f"{text.counted(state.tried, 'configuration')} in {text.counted(state.rounds, 'round')}"
    )
    reasons = _frequent_reasons(Counter(state.left_out.values()))
    return f"{summary}; left out: {'; '.join(reasons)}" if reasons else summary


def _frequent_reasons(reasons: Counter[str], maximum: int = 3) -> list[str]:
    """The most frequent ones, cut where they are long, and how many others there were."""
    frequent = reasons.most_common(maximum)
    texts = [
        f"{n} ({reason if len(reason) < 90 else f'{reason[:87]}...'})" for reason, n in frequent
    ]
    rest = reasons.total() - sum(count for _, count in frequent)
    return [*texts, f"{rest} for other reasons"] if rest else texts


_INT8 = "int8"


@dataclass(frozen=True, slots=True)
class Int8Peak:
    """Multiply-accumulates in a second, who measured them, and whether others computed too."""

    macs_per_s: float
    how: str
    busy: bool = False


def with_peak(results: TuneResults, run: Run, cache_folder: Path) -> TuneResults:
    """The answers, with a sentence where int8 on the host's processor was among what was searched,
    the search is over and the work of a run is known. Measures the peak, for two seconds, where a
    folder does not have it yet."""
    if not any(_has_peak_share(state, answer) for state, answer in results.searches):
        return results
    peak = peak_of_host(cache_folder)
    if peak is None:
        return results
    searches = tuple(
        (state, _with_peak_share(state, answer, results.goal, run, peak))
        for state, answer in results.searches
    )
    return replace(results, searches=searches)


def peak_of_host(cache_folder: Path) -> Int8Peak | None:
    """With as many threads as there are cores; what a busy machine gave is measured again when it
    is quiet. None where no engine that could measure it is installed."""
    threads = len(usable_cores())
    cache_path = cache_folder / f"peak-int8-{socket.gethostname()}-{threads}.json"
    command = install_layout.command("runtimes.onnxruntime.int8_peak", str(threads))
    return kept_peak(Int8Peak, cache_path, command, install_layout.child_environment())


def _has_peak_share(state: Tuned, answer: TuneAnswer) -> bool:
    precisions = {precision for some in state.space.precisions.values() for precision in some}
    spec = state.choice.runtime
    on_host = clock_of(spec) == "wall" and not runtime(parse_spec(spec).name).accelerator
    return answer.over and bool(answer.rungs) and _INT8 in precisions and on_host


def _with_peak_share(
    state: Tuned, answer: TuneAnswer, goal: Goal, run: Run, peak: Int8Peak
) -> TuneAnswer:
    step = next((r for r in answer.rungs if r.case_id == state.choice.case_id), None)
    macs = _macs_per_input(run, state)
    if not _has_peak_share(state, answer) or step is None or not step.value or not macs:
        return answer
    if goal.rate:
        macs_per_s, suffix = macs[0] * step.value, ""
    else:
        macs_per_s, suffix = macs[0] * macs[1] * 1e6 / step.value, f" in its {goal.name}"
    busy = ", on a busy machine" if peak.busy else ""
    sentence = (
        f"{case_text(state.choice)} computes {text.rate_text(macs_per_s, 'MAC')}{suffix}: "
        f"{text.share(macs_per_s / peak.macs_per_s)} of the int8 peak, "
        f"{text.rate_text(peak.macs_per_s, 'MAC')} by {peak.how}{busy}"
    )
    return replace(answer, sentences=(*answer.sentences, sentence))


def _macs_per_input(run: Run, state: Tuned) -> tuple[float, int] | None:
    """The work of one input, and how many inputs a run of the chosen case has; None if it is not
    known, or is known for other sizes than this case has."""
    case = state.choice
    exported_models = (run.models.get((case.model, p)) for p in (case.precision, "fp32"))
    model = next(
        (candidate for candidate in exported_models if candidate is not None and candidate.macs),
        None,
    )
    if model is None or model.macs is None:
        return None
    batch = model.batch if isinstance(model.batch, str) else ""
    if any(model.axes.get(name) != size for name, size in case.axes.items() if name != batch):
        return None
    return model.macs / _inputs(model, model.axes.get(batch)), _inputs(model, case.axes.get(batch))


def _inputs(model: ExportedModel, size: int | None) -> int:
    if size:
        return size
    return model.batch if isinstance(model.batch, int) else 1
