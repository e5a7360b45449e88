"""Blocks of lines are what Python would write of the same numbers and words."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.runs.exporting.tables import join_cells, number_cells, word_cells

WORDS = ("warmup", "measured", "first_seen")
ROW = st.tuples(
    st.integers(0, len(WORDS) - 1),
    st.integers(0, 2**31 - 1),
    st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-20_000, 20_000)),
)


@given(st.lists(ROW, min_size=1, max_size=30))
def test_a_block_is_what_single_lines_would_be(rows: list[tuple[int, int, int]]) -> None:
    word, lane, time_ns = (np.array(column) for column in zip(*rows, strict=True))
    block = join_cells(
        [word_cells(WORDS, word), number_cells(lane.astype(np.int32)), number_cells(time_ns)]
    )
    expected = "".join(f"{WORDS[place]},{owner},{time}\n" for place, owner, time in rows)
    assert block.decode() == expected


def test_powers_of_ten_and_their_neighbours_have_all_digits() -> None:
    values = np.array([10**power + offset for power in range(19) for offset in (-1, 0, 1)])
    assert join_cells([number_cells(values)]).decode().split() == [
        str(value) for value in values.tolist()
    ]
