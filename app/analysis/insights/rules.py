"""The rules of insights: at most five sentences about a run, the same everywhere.

Which runtime is the fastest is judged by pairs of rounds (`app/analysis/comparison/ranking.py`);
the rules repeat its verdicts and make none of their own, so that no two sentences about a run
contradict each other.

What settings do is stated only where 95 % intervals bound it, so of cases with three rounds or
more.

Where a round recorded that something else had the core, the machine is named and not the model.

What single cases do comes first, since it says what their figures mean; then what settings and
runtimes did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.ranking import Fastest, fastest
from app.analysis.insights.insight import (
    Fact,
    Finding,
    Insight,
    disturbance,
    facts_of,
    group_except,
    merge_findings,
    minimum_ratio,
    moving_machine,
)
from app.cases.objectives import BAND
from app.formatting import text
from app.formatting.case_labels import CaseSet
from app.stats.intervals import MINIMUM_ROUNDS

_CLEAR_RATIO = 1.5
_MAXIMUM_NAMES = 3


def clear_winners(
    facts: Sequence[Fact], case_set: CaseSet, contests: Sequence[Fastest]
) -> Iterator[Insight]:
    """Simulated ones apart: they are compared with simulated ones alone."""
    known_ids = {item.case_id for item in facts}
    findings: dict[str, dict[str, Finding]] = {}
    for item in contests:
        if item.parted and item.margin >= _CLEAR_RATIO and known_ids.issuperset(item.case_ids):
            clock = ", simulated" if item.simulated else ", between hosts" * item.between_hosts
            description = f"{item.times:.2f} times as fast as the next, {item.second}{clock}"
            case_id = item.case_ids[0]
            finding = Finding(case_id, item.times, description, item.slower)
            findings.setdefault(clock, {})[case_id] = finding
    for clock, by_id in findings.items():
        shared_text = f"at least {_CLEAR_RATIO:g} times as fast as any other{clock}"
        yield from merge_findings("best", "matrix", list(by_id.values()), case_set, shared_text)


def undecided_contests(
    facts: Sequence[Fact], case_set: CaseSet, contests: Sequence[Fastest]
) -> Iterator[Insight]:
    """The fastest of a set and a rival, where enough rounds leave their verdict undecided."""
    known_ids = {item.case_id for item in facts}
    open_contests = [
        item
        for item in contests
        if item.verdict.word == "undecided"
        and item.rounds >= MINIMUM_ROUNDS
        and known_ids.issuperset(item.case_ids)
    ]
    if not open_contests:
        return
    first = open_contests[0]
    subject = brief = f"{first.label}: {first.first} and {first.second}"
    if len(open_contests) > 1:
        labels = text.first_of([item.label for item in open_contests], _MAXIMUM_NAMES)
        pair = "the fastest by median and another"
        if all(item.case_ids == item.ranking[:2] for item in open_contests):
            pair = "the two fastest by median"
        subject = f"{labels}: {pair}"
        brief = f"in {len(open_contests):,} comparisons {pair}"
    ids = tuple(dict.fromkeys(case_id for item in open_contests for case_id in item.case_ids))
    sentence = f"{subject} can't be distinguished: their rounds are undecided"
    yield Insight("not_told_apart", sentence, ids, "boxes", f"{brief} can't be distinguished")


_WIDTHS = {"fp32": 32, "tf32": 19, "bf16": 16, "fp16": 16, "int8": 8}
_MINIMUM_RATIO = 1.05
_NEGLIGIBLE = 0.05
"""A gain or a change that is surely below this share is none."""


def narrow_but_slow(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    def wider(fact: Fact) -> float:
        return float(_WIDTHS.get(str(fact.row.get("precision")), 0))

    groups = group_except(facts, "precision")
    cases = _slower_findings(groups, wider, lambda fast: f"in {fast.row['precision']}")
    yield from merge_findings(
        "precision", "boxes", cases, case_set, "slower than a wider precision"
    )


def threads_that_cost(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    def fewer(fact: Fact) -> float:
        return -float(fact.case.threads) if fact.case.threads else 0.0

    groups = group_except(facts, "threads")
    cases = _slower_findings(groups, fewer, lambda fast: f"on {fast.case.threads}")
    yield from merge_findings("threads", "boxes", cases, case_set, "slower than with fewer threads")


def _slower_findings(
    groups: Sequence[Sequence[Fact]], order: Callable[[Fact], float], told: Callable[[Fact], str]
) -> list[Finding]:
    """Each case that is slower than one that comes before it in this order, beside the fastest of
    those, by the ratio of their medians. An order of 0 is not known."""
    findings = []
    for group in groups:
        candidates = [fact for fact in group if order(fact)]
        fastest = _fastest_predecessors(candidates, order)
        for slow in candidates:
            fast = fastest[slow.case_id]
            if fast is not None and minimum_ratio(slow, fast) >= _MINIMUM_RATIO:
                times = slow.p50_us / fast.p50_us
                description = f"{times:.2f} times as slow as {told(fast)}"
                findings.append(Finding(slow.case_id, times, description, (fast.case_id,)))
    return findings


def _fastest_predecessors(
    candidates: Sequence[Fact], order: Callable[[Fact], float]
) -> dict[str, Fact | None]:
    """By case the fastest of those that come before it; those that stand equal are passed over.

    Walked through once in that order: a sweep may have thousands in one group.
    """
    predecessors: dict[str, Fact | None] = {}
    fastest: Fact | None = None
    for _, equal in groupby(sorted(candidates, key=order, reverse=True), key=order):
        level = [*equal]
        predecessors |= {fact.case_id: fastest for fact in level}
        fastest = min([*filter(None, [fastest]), *level], key=lambda fact: fact.p50_us)
    return predecessors


def batches_without_gain(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    """The smallest batch size of each line beyond which none gives more inputs a second."""
    cases = []
    for line in _by_batch(facts):
        for place, (size, fact) in enumerate(line[:-1]):
            gains = [_maximum_gain(size, fact, *larger) for larger in line[place + 1 :]]
            if max(gains) <= _NEGLIGIBLE:
                last = line[-1][0]
                share_text = text.share(max(0.0, *gains))
                statement = f"gains nothing beyond batch {size}"
                description = f"{statement}: at most {share_text} more inputs/s up to {last}"
                other_ids = tuple(peer.case_id for _, peer in line if peer is not fact)
                cases.append(Finding(fact.case_id, last / size, description, other_ids))
                break
    yield from merge_findings("batch", "trends", cases, case_set, "larger batches gain nothing")


def _maximum_gain(size: int, fact: Fact, larger_size: int, larger: Fact) -> float:
    """By which share more inputs a second the larger batch gives at most, at the medians."""
    if fact.interval_us is None or larger.interval_us is None:
        return float("inf")
    return (larger_size / larger.interval_us[0]) / (size / fact.interval_us[1]) - 1.0


def _by_batch(facts: Sequence[Fact]) -> Iterator[list[tuple[int, Fact]]]:
    """Cases that differ in their batch alone, by rising size."""
    facts_by_model: dict[str, list[Fact]] = {}
    for fact in facts:
        facts_by_model.setdefault(fact.case.model, []).append(fact)
    axes = {model: _batch_axis(own_facts) for model, own_facts in facts_by_model.items()}
    lines: dict[object, list[tuple[int, Fact]]] = {}
    for group in group_except(facts, "axes"):
        for fact in group:
            axis, size = axes[fact.case.model], fact.number("batch_size")
            rest = tuple(pair for pair in fact.case.axes.items() if pair[0] != axis)
            if axis and size:
                lines.setdefault((id(group), rest), []).append((int(size), fact))
    for line in lines.values():
        if len(line) > 1:
            yield sorted(line, key=lambda pair: pair[0])


def _batch_axis(model_facts: Sequence[Fact]) -> str:
    """The size that is the batch in all cases of a model; "" where none is."""
    for name in dict.fromkeys(name for fact in model_facts for name in fact.case.axes):
        if all(fact.case.axes.get(name) == fact.number("batch_size") for fact in model_facts):
            return name
    return ""


def settings_without_effect(
    facts: Sequence[Fact], case_set: CaseSet, contests: Sequence[Fastest]
) -> Iterator[Insight]:
    """Options, and the number of threads, that are varied and change no median.

    Nothing of a group of which pairs of rounds have found one case slower than another: they see
    less than the intervals of single cases do.
    """
    verdict_pairs = {(item.case_ids[0], slower) for item in contests for slower in item.slower}
    for runtime in dict.fromkeys(item.case.runtime for item in facts):
        runtime_facts = [item for item in facts if item.case.runtime == runtime]
        options = dict.fromkeys(name for item in runtime_facts for name in item.options)
        varied_options = [n for n in options if len({f.options.get(n) for f in runtime_facts}) > 1]
        groups = {name: group_except(runtime_facts, option=name) for name in varied_options}
        groups["threads"] = group_except(runtime_facts, "threads")
        for name, compared_groups in groups.items():
            if any(_has_verdict(group, verdict_pairs) for group in compared_groups):
                continue
            spread = max(map(_maximum_spread, compared_groups), default=float("inf"))
            if spread <= _NEGLIGIBLE:
                ids = tuple(item.case_id for group in compared_groups for item in group)
                outcome = f"{name} changes nothing, p50 is the same within {text.share(spread)}"
                sentence = f"{case_set.text(ids)}: {outcome}"
                brief = f"{len(ids):,} cases: {outcome}"
                yield Insight("no_effect", sentence, ids, "boxes", brief)


def _has_verdict(group: Sequence[Fact], verdict_pairs: Collection[tuple[str, str]]) -> bool:
    ids = [first.case_id for first in group]
    return any((first, second) in verdict_pairs for first in ids for second in ids)


def _maximum_spread(group: Sequence[Fact]) -> float:
    """By which share the medians of these differ at most."""
    intervals = [fact.interval_us for fact in group if fact.interval_us is not None]
    if len(intervals) < len(group):
        return float("inf")
    return max(high for _, high in intervals) / min(low for low, _ in intervals) - 1.0


_FAR_TAIL = 10.0
_SLOWDOWN_PATTERN = re.compile(r"slowed down by up to (\d+)% in (\d+) of (\d+) rounds")
_MACHINE_ADVICE = "the cause may be the machine and not the model, measure again when it is idle"
_MINIMUM_SLOWDOWN = 5.0
"""Percent: less is told in the column and warned of, but is no story."""


def bimodal(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    cases = []
    for fact in facts:
        low, high = fact.number("mode_low_us"), fact.number("mode_high_us")
        if low and high:
            share = text.share(fact.number("mode_high_fraction"))
            levels = f"{text.latency(low)} and {text.latency(high)}"
            description = f"bimodal, {levels}, {share} of the runs at the upper level"
            cases.append((Finding(fact.case_id, high / low, description), disturbance(fact)))
    yield from _merge_by_disturbance("bimodal", "histogram", cases, case_set, "bimodal")


def stalling(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    cases = []
    for fact in facts:
        stall, period = fact.number("stall_us"), fact.number("stall_period_us")
        share = fact.number("stall_fraction")
        if stall and period and share is not None:
            stall_text = f"stalls of {text.latency(stall)} every {text.latency(period)}"
            description = f"{stall_text}, {text.share(share)} of the time"
            finding = Finding(fact.case_id, share, description)
            cases.append((finding, disturbance(fact, 1e6 / period)))
    yield from _merge_by_disturbance(
        "stalls", "timeline", cases, case_set, "stalls at even distances"
    )


def far_tail(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    """Of closed loops: requests that queue, and shapes that differ, have a tail by their nature."""
    cases = []
    for fact in facts:
        p99, scenario = fact.number("latency_p99_us"), fact.case.scenario
        natural = scenario.is_open_loop or fact.case.condition.kind == "shapes"
        if p99 and p99 >= _FAR_TAIL * fact.p50_us and not natural:
            times = text.significant(p99 / fact.p50_us, 2)
            description = (
                f"the slowest 1 % take {times} times the median, {text.latency(p99)} or more"
            )
            cases.append((Finding(fact.case_id, p99 / fact.p50_us, description), disturbance(fact)))
    shared_text = f"the slowest 1 % take {_FAR_TAIL:g} times the median or more"
    yield from _merge_by_disturbance("tail", "percentiles", cases, case_set, shared_text)


def slowing(facts: Sequence[Fact], case_set: CaseSet) -> Iterator[Insight]:
    cases = []
    for fact in facts:
        match = _SLOWDOWN_PATTERN.search(str(fact.row.get("drift") or ""))
        percent, rounds, total = map(int, match.groups()) if match else (0, 0, 0)
        if percent >= _MINIMUM_SLOWDOWN and 2 * rounds > total:
            description = f"slows down by up to {percent} % within {rounds} of {total} rounds"
            cases.append((Finding(fact.case_id, float(percent), description), disturbance(fact)))
    yield from _merge_by_disturbance(
        "slowing", "timeline", cases, case_set, "slow down within most rounds"
    )


def _merge_by_disturbance(
    kind: str,
    view: str,
    cases: Sequence[tuple[Finding, str]],
    case_set: CaseSet,
    shared_text: str,
) -> Iterator[Insight]:
    """A sentence for the cases that nothing disturbed, and one for those that something did."""
    yield from merge_findings(kind, view, [f for f, c in cases if not c], case_set, shared_text)
    disturbed_findings = [
        replace(finding, description=f"{finding.description}, while {cause}: {_MACHINE_ADVICE}")
        for finding, cause in cases
        if cause
    ]
    yield from merge_findings(
        kind, view, disturbed_findings, case_set, f"{shared_text} on a disturbed machine"
    )


MAXIMUM = 5
_MAXIMUM_OF_SHAPE = 3
"""So that what settings did is heard of too, if there is something."""
HEADING = "findings"

Rule = Callable[[Sequence[Fact], CaseSet], Iterator[Insight]]
ContestRule = Callable[[Sequence[Fact], CaseSet, Sequence[Fastest]], Iterator[Insight]]
_SHAPE_RULES: tuple[Rule, ...] = (bimodal, stalling, far_tail, slowing)
_SETTINGS_RULES: tuple[Rule, ...] = (narrow_but_slow, threads_that_cost, batches_without_gain)
_CONTEST_RULES: tuple[ContestRule, ...] = (
    clear_winners,
    settings_without_effect,
    undecided_contests,
)


def find_insights(
    measurements: Iterable[MeasuredCase],
    case_set: CaseSet | None = None,
    contests: Sequence[Fastest] | None = None,
) -> list[Insight]:
    """The sentences in the order in which to read them; none for a run that has nothing to say.

    `case_set` names its cases and `contests` are what is the fastest of them, where somebody has
    those.
    """
    measurements = list(measurements)
    all_facts = facts_of(measurements)
    case_set = case_set or CaseSet([item.case for item in measurements])
    shape_findings = [*moving_machine(measurements)]
    shape_findings += [notice for rule in _SHAPE_RULES for notice in rule(all_facts, case_set)]
    if contests is None:
        case_ids = {item.case_id for item in all_facts}
        round_cases = [item for item in measurements if item.summary is not None]
        contests = fastest([item for item in round_cases if item.case.case_id in case_ids], BAND)
    rest = [notice for rule in _SETTINGS_RULES for notice in rule(all_facts, case_set)]
    rest += [n for rule in _CONTEST_RULES for n in rule(all_facts, case_set, contests)]
    rest = _order_by_kind(rest)
    room = max(_MAXIMUM_OF_SHAPE, MAXIMUM - len(rest))
    return [*shape_findings[:room], *rest][:MAXIMUM]


def _order_by_kind(notices: Sequence[Insight]) -> list[Insight]:
    """The first of each kind, and after them the others of those that have several."""
    first = {notice.kind: notice for notice in reversed(notices)}
    return sorted(notices, key=lambda entry: entry is not first[entry.kind])
