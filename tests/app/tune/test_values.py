"""Which values of an option are tried: what its table says, and as many as cores have a use for."""

from __future__ import annotations

import pytest

from app.tune.space import candidate_values, threads_of
from runtimes.options import SESSIONS, Option, OptionValue
from runtimes.session.host import CALL


@pytest.mark.parametrize(
    ("option", "values"),
    [
        (Option("flag", True, ""), (True, False)),
        (Option("flag", False, ""), (False, True)),
        (Option("level", "b", "", ("a", "b", "c")), ("b", "a", "c")),
        (Option("builder", 3, "", (1, 3, 5)), (3, 1, 5)),
        (Option("lanes", 1, "", minimum=1, maximum=64), (1, 2, 4, 8)),
        (Option("lanes", 1, "", minimum=1, maximum=3), (1, 2, 3)),
        (Option("time", 100.0, "", minimum=0), (100.0, 25.0, 50.0, 200.0, 400.0)),
        (Option("name", "x", ""), ("x",)),
        (Option("unknown", 0, "", minimum=0), (0,)),
    ],
)
def test_values_come_from_the_table(option: Option, values: tuple[OptionValue, ...]) -> None:
    assert candidate_values(option, cores=4) == values
    assert all(type(value) is type(option.default) for value in candidate_values(option, cores=4))


def test_what_changes_the_task_and_not_its_speed_is_not_tried() -> None:
    assert candidate_values(CALL, cores=4) == ("auto",)


def test_numbers_grow_with_the_cores() -> None:
    assert candidate_values(SESSIONS, cores=2) == (1, 2, 4)
    assert threads_of(1) == (0, 1)
    assert threads_of(6) == (0, 1, 2, 4, 6)
