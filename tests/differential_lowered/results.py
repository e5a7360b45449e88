"""The table of a fuzzer's run, and its disagreements with the commands that repeat them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.differential_lowered.card import Outcome
from tests.differential_lowered.known import reason_for


class Results:
    """Verdicts by kind, and the disagreements that are not known."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Counter[str]] = {}
        self.unknown: list[tuple[str, int, str]] = []

    def add(self, name: str, seed: int, outcome: Outcome) -> None:
        verdict: str = outcome.verdict
        if verdict == "disagrees" and reason_for(name, outcome.cause):
            verdict = "known"
        elif verdict == "disagrees":
            self.unknown.append((name, seed, outcome.cause))
        self._verdicts.setdefault(name, Counter())[verdict] += 1

    def table(self) -> Iterator[str]:
        """Kinds by their comparable draws, those left to the CPU, those that rounding decides,
        known and other disagreements."""
        yield f"{'kind':34}{'comparable':>11}{'left':>7}{'ill':>5}{'known':>7}{'disagree':>10}"
        totals: Counter[str] = Counter()
        for name, verdicts in self._verdicts.items():
            totals.update(verdicts)
            yield _line(name, verdicts)
        yield _line("all", totals)

    def faults(self) -> Iterator[str]:
        """Each kind's different causes, with the command that repeats the draw."""
        reported_keys: set[tuple[str, str]] = set()
        for name, seed, cause in self.unknown:
            if (name, cause[:40]) not in reported_keys:
                reported_keys.add((name, cause[:40]))
                command = f"python -m tests.differential_lowered --only '{name}' --draw {seed}"
                yield f"{name}: {cause}\n    {command}"


def _line(name: str, verdicts: Mapping[str, int]) -> str:
    known_count, wrong = verdicts.get("known", 0), verdicts.get("disagrees", 0)
    comparable = verdicts.get("agrees", 0) + known_count + wrong
    left, ill = verdicts.get("left to the CPU", 0), verdicts.get("ill-conditioned", 0)
    return f"{name:34}{comparable:>11}{left:>7}{ill:>5}{known_count:>7}{wrong:>10}"
