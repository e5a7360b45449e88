"""What a run lacks of its study, by name: models, cases, rounds; what failed, what to doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.case import Case
from app.cases.status import ENDED, INCOMPLETE
from app.console.said import doubts, whys
from app.plan.plan import Plan
from app.present.document import Block, Heading, Paragraph, Points
from app.results import text
from app.results.diagnostic_columns import warning_groups
from app.results.ended import MISSING
from app.results.labels import differences, model_labels
from app.results.run import Run
from app.results.together import Together
from app.studies.found import Found


def missing(found: Found, whole: Plan) -> Iterator[Block]:
    """`whole` is the study's own plan."""
    yield Heading("Not measured")
    lacking = tuple(_lacking(found, whole))
    if lacking:
        yield Points(lacking)
    elif whole.tune:
        yield Paragraph("The text below the table of the search lists what it did not measure.")
    else:
        yield Paragraph("Nothing: every case of the study has all its rounds or ended.")
    together = Together([one.case for one in found.measured])
    rows = [one.row for one in found.measured if one.row["status"] not in INCOMPLETE]
    if causes := whys(rows, together):
        yield Heading("Failures")
        yield Points(tuple(f"{c.status.replace('_', ' ')}, {c.sentence}" for c in causes))
    groups = [group for group in warning_groups(rows) if group.code != MISSING]
    if groups:
        yield Heading("Warnings")
        yield Points(doubts(groups, together))


def _lacking(found: Found, whole: Plan) -> Iterator[str]:
    yield from found.damaged
    cases = [one.case for one in found.measured]
    absent = "; ".join(_absent(cases, whole))
    if absent:
        yield f"not part of this run: {absent}"
    if found.others:
        yield f"{found.others:,} cases of this run do not belong to the study and are not listed"
    wanted, asked = found.run.manifest.rounds, found.run.manifest.asked
    own = whole.lengths.rounds, whole.profile
    if not whole.is_search and (wanted, asked.profile) != own:
        yield (
            f"requested rounds: {wanted} of preset {asked.profile}; the study's plan has {own[0]} "
            f"of preset {own[1]}"
        )
    had = {case.case_id: _had(found.run, case, wanted) for case in cases}
    left = sum(wanted - count for count in had.values())
    if not left:
        return
    budget_s = asked.budget_s
    begins = "not run:"
    if budget_s is not None:
        begins = f"not run in the budget of {text.duration(budget_s)}:"
    yield f"{begins} {left:,} of {wanted * len(cases):,} rounds"
    for count in sorted(set(had.values()) - {wanted}):
        named = _named([case for case in cases if had[case.case_id] == count], cases)
        yield f"{f'{count} of {wanted} rounds' if count else 'no round'}: {named}"
    yield "graphlap study NAME --resume RUN measures the rest"


def _absent(cases: Sequence[Case], whole: Plan) -> Iterator[str]:
    """The study's models that the run has not, then those it has not on a runtime that the study
    names."""
    models = {case.model for case in cases}
    planned = dict.fromkeys(model for grid in whole.sweeps for model in grid.models)
    nowhere = [model for model in planned if model not in models]
    if nowhere:
        yield ", ".join(nowhere)
    there = {(case.model, case.runtime) for case in cases}
    for runtime in dict.fromkeys(name for grid in whole.sweeps for name in grid.runtimes):
        its = [model for grid in whole.sweeps if runtime in grid.runtimes for model in grid.models]
        lacking = [m for m in dict.fromkeys(its) if m in models and (m, runtime) not in there]
        if lacking:
            yield f"{runtime} {', '.join(lacking)}"


def _had(run: Run, case: Case, wanted: int) -> int:
    """How many rounds a case has had, of those that are wanted, which a search may go beyond; all,
    where it ended so that it gets no more."""
    statuses = [result.status for result in run.rounds_of(case)]
    ended = not ENDED.isdisjoint(statuses)
    return wanted if ended else min(wanted, sum(status != "cancelled" for status in statuses))


def _named(cases: Sequence[Case], among: Sequence[Case]) -> str:
    """Each of these cases by name: `fake all 4; ort-cpu, torch-cpu: mlp, char_cnn; ort-cpu: x`."""
    models = model_labels(case.model for case in among)
    told: list[str] = []
    runtimes: dict[str, list[str]] = {}
    for runtime in dict.fromkeys(case.runtime for case in cases):
        own = [case for case in cases if case.runtime == runtime]
        its = [case for case in among if case.runtime == runtime]
        if 1 < len(own) == len(its):
            told.append(f"{runtime} all {len(own)}")
            continue
        apart = differences(its)
        for case in own:
            name = " ".join([models[case.model], *apart[case.case_id]])
            runtimes.setdefault(name, []).append(runtime)
    names: dict[str, list[str]] = {}
    for name, of in runtimes.items():
        names.setdefault(", ".join(of), []).append(name)
    return "; ".join([*told, *(f"{of}: {', '.join(some)}" for of, some in names.items())])
