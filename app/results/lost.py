"""What a run folder has lost as a whole: journal lines, rounds and cases without a trace.

Files that are gone leave nothing to check. What they held is known from elsewhere: `live.json`
counts the lines of each journal, the plan says how many rounds a finished case has, and exported
tables name the rounds that they were made of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from app.cases.case import Case
from app.cases.status import ENDED
from app.results.finding import Finding
from app.results.folder import LIVE
from app.results.journal import FOLDER
from app.results.live import Live
from app.results.regular import read_json
from app.results.run import Run
from exporters.codec import from_json

_RESTORE = f"restore {FOLDER}/ and samples/ from a copy"


def read_end(folder: Path) -> Live:
    """How a run ended, as `live.json` says; nothing where it can't be read."""
    try:
        return from_json(Live, read_json(folder / LIVE))
    except (OSError, ValueError):
        return Live()


def lost_lines(live: Live, counts: Mapping[str, int]) -> Iterator[Finding]:
    """Journals with fewer lines than the writer had written; `counts` are by their names."""
    for name, written in live.journal_lines.items():
        there = counts.get(name, 0)
        if there < written:
            yield Finding(
                f"{FOLDER}/{name}",
                f"has {there:,} of the {written:,} lines that were written",
                f"{_RESTORE}, or resume the run: that measures again what they held",
            )


def lost_rounds(live: Live, run: Run) -> Iterator[Finding]:
    """Of a run that measured all of its plan, each case without all of its rounds."""
    manifest, asked = run.manifest, run.manifest.asked
    complete = live.state == "finished" and live.rounds_done == live.rounds_total > 0
    if not complete or manifest.merged or asked.is_search or asked.stopping is not None:
        return
    for case in run.cases:
        known = run.rounds.get(case.case_id, {})
        there = len(known) + len(run.damaged.get(case.case_id, ()))
        ended = any(result.status in ENDED for result in known.values())
        if not ended and there < manifest.rounds:
            yield Finding(
                FOLDER,
                f"has {there} of the {manifest.rounds} rounds of case {case.case_id}, which "
                f"{LIVE} records as measured",
                f"{_RESTORE}, or resume the run: that measures them again",
            )


def impossible_rounds(run: Run) -> Iterator[Finding]:
    """Rounds that the plan can't have: of other cases, or beyond the last number."""
    cases: dict[str, Case] = {case.case_id: case for case in run.cases}
    for case_id, known in run.rounds.items():
        case = cases.get(case_id)
        if case is None:
            yield Finding(
                FOLDER,
                f"has {len(known)} rounds of case {case_id:.40}, which the run does not have",
                "move the journal of another run out of the folder",
            )
            continue
        planned = run.planned(case)
        beyond = [number for number in known if number >= planned.rounds]
        if beyond and not planned.asked.is_search:
            yield Finding(
                FOLDER,
                f"has round {max(beyond) + 1} of case {case_id}, and the plan has "
                f"{planned.rounds} rounds",
                _RESTORE,
            )


def rounds_lost(stored: Mapping[str, int], run: Run, voided: Collection[str] = ()) -> int:
    """How many timed rounds a table has that the journals lack; `stored` are its numbers by case.
    Rounds of the cases that are `voided` are about to be measured again."""
    lost = 0
    for case_id, rounds in stored.items():
        if case_id not in voided and case_id not in run.void:
            known = run.rounds.get(case_id, {}).values()
            there = sum(bool(result.samples) for result in known)
            lost += max(0, rounds - there - len(run.damaged.get(case_id, ())))
    return lost


def fuller_table(name: str, lost: int) -> Iterator[Finding]:
    """The finding of a table that has so many rounds more than the journals."""
    if lost:
        yield Finding(
            name,
            f"holds {lost:,} rounds that {FOLDER}/ lacks",
            f"{_RESTORE}, and keep {name}: it has the only figures of these rounds",
        )
