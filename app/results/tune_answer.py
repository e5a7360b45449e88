"""What a search over options came to, as people read it: the ladder, and what to think of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.goal import Goal
from app.results import text
from app.results.labels import model_labels
from app.results.run import Run
from app.results.tuning import Tuned, tunings
from app.results.verdicts import interval_note
from app.stats.verdict import Verdict
from app.tune.ladder import Step
from app.tune.space import BATCH, OPTION, PRECISION, RUNTIME, THREADS, Choice


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times better, with the ends of the interval that decided the verdict, None with too
    few rounds."""

    times: float
    low: float | None
    high: float | None
    verdict: str

    def __str__(self) -> str:
        between = ""
        if self.low is not None and self.high is not None:
            between = f" ({text.ratio_interval(self.low, self.high)})"
        return f"{text.significant(self.times)}{between}"


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
class TunesFound:
    """All of a run, with how far each has come."""

    goal: Goal
    searches: tuple[tuple[Tuned, TuneAnswer], ...]


def tunes_found(run: Run) -> TunesFound | None:
    """None of a plan that asks for no search; reads the samples of every round."""
    asked = run.manifest.asked
    goal = asked.goal
    if goal is None:
        return None
    searches = tunings(run)
    names = model_labels(search.space.base.model for search in searches)
    found = []
    for search in searches:
        tuned = search.of(run)
        found.append((tuned, _answer(names[search.space.base.model], tuned, goal, run)))
    return TunesFound(goal, tuple(found))


def value_text(value: float | None, goal: Goal) -> str:
    """`727/s`, or `12.3 ms`."""
    return text.rate_text(value) if goal.rate else text.latency(value)


def described(case: Case) -> str:
    """`openvino-cpu int8, batch 16, 2 threads, streams=2`."""
    sizes = [f"{name} {size}" for name, size in sorted(case.axes.items())]
    threads = _said((THREADS, case.threads))
    options = [f"{name}={value}" for name, value in sorted(case.options.items())]
    return ", ".join([f"{case.runtime} {case.precision}", *sizes, threads, *options])


def _answer(model: str, tuned: Tuned, goal: Goal, run: Run) -> TuneAnswer:
    found = tuned.found
    rungs = tuple(
        replace(_rung(step, tuned, goal), top1=_top1(run, step.case))
        for step in (found.steps if found else ())
    )
    over = tuned.following is None
    return TuneAnswer(
        model, str(goal), rungs, tuple(_sentences(model, tuned, goal)), tuned.shown, over
    )


def _top1(run: Run, case: Case) -> float | None:
    accuracy = run.accuracy_of(case)
    return None if accuracy is None else accuracy.top1


def _rung(step: Step, tuned: Tuned, goal: Goal) -> Rung:
    label = f"default: {described(step.case)}" if step.choice is None else _said(step.choice)
    value = step.cost
    if value and goal.rate:
        value = 1e6 / value
    case_id = step.case.case_id
    return Rung(
        label,
        case_id,
        value,
        _gain(step.before),
        _gain(step.default),
        tuned.errors.get(case_id),
        tuned.kept_us.get(case_id),
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


def _said(choice: Choice) -> str:
    name, value = choice
    if name == THREADS:
        if not value:
            return "threads as the engine likes"
        return f"{value} thread{'s' * (value != 1)}"
    if name in (RUNTIME, PRECISION):
        return str(value)
    if name == BATCH:
        return f"batch {value}"
    return f"{name.removeprefix(OPTION)}={value}"


def _sentences(model: str, tuned: Tuned, goal: Goal) -> list[str]:
    found = tuned.found
    if found is None:
        if tuned.following is not None:
            return [_unfinished(model, tuned, goal), _effort(tuned)]
        return [f"{model}: nothing that was tried may win", _effort(tuned)]
    said = [_verdict_sentence(model, tuned, goal)]
    if found.beside is not None and found.rival is not None:
        said.append(_beside(described(found.rival), found.beside))
    if found.again is not None:
        said.append(_against_itself(found.again, found.noise))
    doubted = [
        rung.label
        for rung in (_rung(step, tuned, goal) for step in found.steps[1:])
        if rung.gain is None or rung.gain.verdict != "better"
    ]
    if doubted and tuned.shown:
        said.append(f"not shown to help by itself: {', '.join(doubted)}")
    note = interval_note(
        verdict
        for verdict in (
            *(step.before for step in found.steps),
            *(step.default for step in found.steps),
            found.beside,
            found.again,
        )
        if verdict is not None
    )
    said += [note] if note else []
    said.append(_effort(tuned))
    if tuned.following is not None:
        said.append("the final rounds are not all there: resume the run")
    return said


def _unfinished(model: str, tuned: Tuned, goal: Goal) -> str:
    """The best of a search that has no final rounds yet."""
    said = f"{model} was not searched to the end: resume the run"
    if tuned.lead_cost is None:
        return f"{said}; no configuration leads so far"
    value = value_text(1e6 / tuned.lead_cost if goal.rate else tuned.lead_cost, goal)
    if tuned.lead.case_id == tuned.space.base.case_id:
        return f"{said}; best so far is the default, {value}"
    than = ""
    if tuned.lead_gain is not None:
        times = text.significant(tuned.lead_gain)
        than = f", {times} times better than the default in the rounds by which it was chosen"
    return f"{said}; best so far is {described(tuned.lead)}, {value}{than}"


def _verdict_sentence(model: str, tuned: Tuned, goal: Goal) -> str:
    found = tuned.found
    assert found is not None, "there is a ladder"
    total = _gain(found.winner.default)
    if found.steps[0].cost is None:
        why = tuned.left_out.get(tuned.space.base.case_id, "it was not measured")
        return f"{model}: the default has no figure ({why}); {described(tuned.lead)} has one"
    if total is None:
        if len(found.steps) == 1:
            return f"{model}: nothing was found that is better than the default"
        return f"{model}: too few rounds compare the winner with the default"
    told = f"{total} times the {goal.name} of the default"
    if not goal.rate:
        told = f"{goal.name} {total} times shorter than the default's"
    if not tuned.shown:
        return f"{model}: {described(tuned.lead)} is not shown to be better: {told}"
    return f"{model}: {described(tuned.lead)} has {told}"


def _beside(rival: str, verdict: Verdict) -> str:
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


def _effort(tuned: Tuned) -> str:
    said = f"{tuned.tried} configurations in {tuned.rounds} rounds"
    listed = _counted(Counter(tuned.left_out.values()))
    return f"{said}; left out: {'; '.join(listed)}" if listed else said


def _counted(reasons: Counter[str], most: int = 3) -> list[str]:
    """The most frequent ones, cut where they are long, and how many others there were."""
    frequent = reasons.most_common(most)
    told = [
        f"{n} ({reason if len(reason) < 90 else f'{reason[:87]}...'})" for reason, n in frequent
    ]
    rest = reasons.total() - sum(count for _, count in frequent)
    return [*told, f"{rest} for other reasons"] if rest else told
