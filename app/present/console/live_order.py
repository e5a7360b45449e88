"""Which of several engines is first so far, by the rounds that have ended while others run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.analysis.columns.rows import turns_of
from app.cases.case import Case
from app.cases.round import RoundResult
from app.formatting.case_labels import labels, shared_and_distinct
from app.run_folder.run import Run
from app.stats.levels import ratio_in_turns

_Rounds = dict[str, Sequence[float]]
"""By the set or the pass the medians of a case's turns; of a round that was alone its own."""
_PASS = "pass "


class LiveOrder:
    """`sentences` are the latest, by what the cases of each comparison share."""

    def __init__(self, band: float) -> None:
        self.sentences: dict[str, str] = {}
        self._band = band
        self._groups: dict[str, dict[str, _Rounds]] = {}
        self._cases: dict[str, Case] = {}
        self._words: dict[str, tuple[str, str, bool]] = {}

    def add(self, run: Run, case: Case, result: RoundResult, p50_us: float | None) -> str:
        """What is known of the comparison of this case with those of other engines, if that says
        more than before, else ""."""
        key = replace(case, runtime="", options={}).case_id
        turns = turns_of(run, result)
        rounds = self._groups.setdefault(key, {}).setdefault(case.case_id, {})
        self._cases[case.case_id] = case
        if turns is None and p50_us:
            rounds[f"{_PASS}{result.round}"] = (p50_us,)
        elif turns is not None and any(turns[1]):
            rounds[turns[0]] = turns[1]
        sides = {case_id: side for case_id, side in self._groups[key].items() if side}
        return self._sentence(key, sides) if len(sides) > 1 else ""

    def _sentence(self, key: str, sides: Mapping[str, _Rounds]) -> str:
        from app.analysis.comparison.ranking import Fastest
        from app.present.console.run_summary import verdict_text
        from app.stats.verdict import RoundPairs, judge_rounds

        first = min(sides, key=lambda case_id: _level(sides[case_id]))
        ratios = {other: _ratios(sides[first], sides[other]) for other in sides if other != first}
        ratios = {other: found for other, found in ratios.items() if found}
        if not ratios:
            return ""
        verdicts = judge_rounds(
            [RoundPairs([1.0] * len(found), found) for found in ratios.values()], self._band
        )
        words = dict(zip(ratios, verdicts, strict=True))
        times = {other: math.exp(float(np.mean(np.log(found)))) for other, found in ratios.items()}
        is_parted = all(verdict.word == "slower" for verdict in verdicts)
        second = min(times, key=lambda other: (words[other].word == "slower", times[other]))
        label, names = shared_and_distinct(labels([self._cases[case_id] for case_id in sides]))
        count = len(ratios[second])
        contest = Fastest(
            label,
            names[first],
            names[second],
            times[second],
            words[second],
            is_parted,
            count,
            needed=None,
            simulated=False,
        )
        state = first, words[second].word, words[second].interval is None
        is_news = self._words.get(key) != state
        self._words[key] = state
        sentence = verdict_text(contest, self._band)
        self.sentences[key] = f"{label}: {sentence}" if label else sentence
        return self.sentences[key] if is_news else ""


def _level(rounds: _Rounds) -> float:
    return float(
        np.median([np.median([turn for turn in turns if turn]) for turns in rounds.values()])
    )


def _ratios(first: _Rounds, second: _Rounds) -> list[float]:
    """By the sets that both took turns in, and before there is one by passes."""
    shared = [key for key in first if key in second]
    sets = [key for key in shared if not key.startswith(_PASS)] or shared
    found = (ratio_in_turns(first[key], second[key]) for key in sets)
    return [ratio for ratio in found if ratio]
