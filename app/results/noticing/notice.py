"""A sentence about a run, with the cases that it is of and the view that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.results.together import Together


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` names the rule, `view` the key of the window's view that shows these cases.

    `brief` says the same without telling which of several cases, where there is little room.
    """

    kind: str
    sentence: str
    case_ids: tuple[str, ...]
    view: str
    brief: str


@dataclass(frozen=True, slots=True)
class Found:
    """A case of which a rule holds, `what` it says of it, and the `others` that show it beside.

    The larger `much` is, the more there is to it.
    """

    case_id: str
    much: float
    what: str
    others: tuple[str, ...] = ()


def told(
    kind: str, view: str, found: Sequence[Found], together: Together, each: str
) -> Iterator[Notice]:
    """One sentence for all that a rule has found: `each` is what holds of several alike."""
    if not found:
        return
    ordered = sorted(found, key=lambda one: -one.much)
    first = ordered[0]
    case_ids = dict.fromkeys(i for one in ordered for i in (one.case_id, *one.others))
    sentence = brief = f"{together.text([first.case_id])}: {first.what}"
    if len(found) > 1:
        all_of_them = together.text([one.case_id for one in found])
        sentence = f"{all_of_them}: {each}; the most {sentence}"
        brief = f"{len(found):,} cases: {each}"
    yield Notice(kind, sentence, tuple(case_ids), view, brief)
