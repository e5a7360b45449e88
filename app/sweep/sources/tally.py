"""Which rounds the cases of a sweep have, are to have and lack: counted as they come, never summed.

A sweep asks after every round how many are left, and may have a hundred thousand cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count


class Tally:
    """`wanted` and `left` are of all cases: the rounds that they are to have, and that they lack.

    A case that has ended lacks none.
    """

    def __init__(self) -> None:
        self.wanted = self.left = 0
        self._wanted: dict[str, int] = {}
        self._known: dict[str, set[int]] = {}
        self._ended: set[str] = set()

    def add(self, case_id: str, wanted: int, known: Iterable[int], ended: bool) -> None:
        """A case that is to have so many rounds, numbered from 0; each is added once."""
        numbers = set(known)
        if numbers:
            self._known[case_id] = numbers
        if ended:
            self._ended.add(case_id)
        self._wanted[case_id] = wanted
        self.wanted += wanted
        self.left += self.left_of(case_id)

    def known_of(self, case_id: str) -> tuple[int, ...]:
        """The numbers of the rounds that the case has, ascending."""
        return tuple(sorted(self._known.get(case_id, ())))

    def wanted_of(self, case_id: str) -> int:
        return self._wanted[case_id]

    def left_of(self, case_id: str) -> int:
        """How many rounds the case still lacks."""
        if case_id in self._ended:
            return 0
        wanted = self._wanted[case_id]
        return wanted - sum(number < wanted for number in self._known.get(case_id, ()))

    def first_missing(self, case_id: str) -> int:
        """The number of the first round that the case has not."""
        known = self._known.get(case_id, ())
        return next(number for number in count() if number not in known)

    def lacks(self, case_id: str, number: int) -> bool:
        """Whether the case still lacks this round."""
        if case_id in self._ended or number >= self._wanted[case_id]:
            return False
        return number not in self._known.get(case_id, ())

    def has_ended(self, case_id: str) -> bool:
        return case_id in self._ended

    def end(self, case_id: str) -> None:
        """The case gets no more rounds."""
        self.left -= self.left_of(case_id)
        self._ended.add(case_id)

    def take(self, case_id: str, number: int) -> bool:
        """The case has this round now; False if that was known."""
        known = self._known.setdefault(case_id, set())
        if number in known:
            return False
        before = self.left_of(case_id)
        known.add(number)
        self.left += self.left_of(case_id) - before
        return True

    def void(self, case_id: str) -> None:
        """None of the rounds that the case has had counts any more."""
        before = self.left_of(case_id)
        self._known.pop(case_id, None)
        self.left += self.left_of(case_id) - before

    def want(self, case_id: str, rounds: int) -> None:
        """The case is to have so many rounds in all."""
        before = self.left_of(case_id)
        self.wanted += rounds - self._wanted[case_id]
        self._wanted[case_id] = rounds
        self.left += self.left_of(case_id) - before
