"""Rounds of a sequential comparison: cases get more until their verdicts are settled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.analysis.columns.reference_cases import compare_with_baseline
from app.analysis.columns.rows import Rows
from app.analysis.comparison.judge import ComparedCase
from app.cases.case import Case
from app.cases.status import TERMINAL
from app.formatting.text import counted
from app.plan.plan import Plan, named_lengths
from app.plan.reference_cases import baselines
from app.run_folder.run import Run
from app.stats.required_rounds import SequentialRule
from app.stats.verdict import NOT_RESOLVED, TOO_FEW_ROUNDS, Verdict

_RESOLVABLE = (NOT_RESOLVED, TOO_FEW_ROUNDS)
"""Why a verdict is undecided that more rounds may decide."""


class SequentialRounds:
    """Until the verdicts of a case against the baseline are settled, up to the rule's maximum.

    All pairs are looked at together, between two passes, once every case has the rounds of its
    look. A case without a partner, or whose partner failed, gets the rounds of the preset.
    """

    def __init__(self, plan: Plan, rule: SequentialRule, run: Run, rows: Rows) -> None:
        self._plan, self._rule, self._run, self._rows = plan, rule, run, rows
        self._rounds_without_partner = rule.look_at(named_lengths()[plan.profile].rounds)
        self._partners = baselines(plan.baseline, run.cases)
        self._cases = {case.case_id: case for case in run.cases}
        self._targets: dict[str, int] = {}
        self._lacking: set[str] = set()
        self._look: tuple[str, str] = "", ""
        self._review()

    def planned_rounds(self, case: Case) -> int:
        return self._targets.get(case.case_id, self._rounds_without_partner)

    def revised_by(self, case: Case) -> Iterable[Case]:
        if self._is_complete(case.case_id):
            self._lacking.discard(case.case_id)
        if self._lacking or case.case_id not in self._targets:
            return ()
        previous = self._targets
        self._look = case.case_id, self._review()
        return [self._cases[case_id] for case_id in previous]

    def look(self, case: Case) -> str:
        case_id, text = self._look
        return text if case_id == case.case_id else ""

    def _review(self) -> str:
        """Plan the rounds of every pair by its verdicts, and describe what was found."""
        comparisons = self._comparisons()
        self._targets, open_count = {}, 0
        for second_id, partner in self._partners.items():
            if not (self._is_alive(second_id) and self._is_alive(partner.case_id)):
                continue
            rounds = len(self._numbers(second_id) & self._numbers(partner.case_id))
            comparison = comparisons.get(self._cases[second_id].case_id)
            target = self._wanted_rounds(rounds, comparison)
            open_count += target > rounds
            for case_id in (second_id, partner.case_id):
                self._targets[case_id] = max(target, self._targets.get(case_id, 0))
        self._lacking = {case_id for case_id in self._targets if not self._is_complete(case_id)}
        if not open_count:
            return "no comparison needs more rounds"
        following = max(self._targets.values())
        count = counted(open_count, "comparison")
        return f"{count} undecided: next look after {counted(following, 'round')}"

    def _comparisons(self) -> dict[str, ComparedCase]:
        """The pairs with verdicts, by the identity of their second case."""
        if not any(self._run.rounds_of(case) for case in self._cases.values()):
            return {}
        cases = self._rows.measured(self._run)
        comparison = compare_with_baseline(self._plan, cases, str(self._run.path))
        return {case.case_id: case for case in comparison.cases} if comparison else {}

    def _wanted_rounds(self, rounds: int, comparison: ComparedCase | None) -> int:
        """How many rounds a pair with so many is to have; between two looks nothing is decided."""
        if rounds not in self._rule.looks:
            return self._rule.look_at(rounds)
        verdicts = _verdicts(comparison)
        return rounds if all(map(self._is_settled, verdicts)) else self._rule.look_after(rounds)

    def _is_settled(self, verdict: Verdict) -> bool:
        """Whether a verdict is decided, is fine enough where that alone is asked for, or has a
        cause that more rounds do not remove."""
        if verdict.word != "undecided" or verdict.reason not in _RESOLVABLE:
            return True
        detect, detectable = self._plan.detect, verdict.detectable
        if self._plan.sequential or detect is None or detectable is None:
            return False
        return detectable <= detect

    def _is_alive(self, case_id: str) -> bool:
        """Whether more rounds of the case may be measured."""
        rounds = self._run.rounds_of(self._cases[case_id])
        return TERMINAL.isdisjoint(r.status for r in rounds if not r.is_tried_again)

    def _is_complete(self, case_id: str) -> bool:
        """Whether the case has the rounds of its look, or will have no more."""
        target = self._targets.get(case_id, 0)
        return not self._is_alive(case_id) or len(self._numbers(case_id)) >= target

    def _numbers(self, case_id: str) -> set[int]:
        rounds = self._run.rounds_of(self._cases[case_id])
        return {result.round for result in rounds if not result.is_tried_again}


def _verdicts(comparison: ComparedCase | None) -> Sequence[Verdict]:
    """None of a pair that cannot be compared, as of two clocks."""
    if comparison is None:
        return ()
    return [sides.verdict for sides in comparison.percentiles.values()]
