"""A computation in Python ends at its limit, and what it gives or raises comes back."""

from __future__ import annotations

import threading

import pytest

from exporters.validation import TooSlow, within


def test_a_result_and_a_fault_come_back() -> None:
    assert within(60, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 // 0)


def test_a_loop_without_an_end_is_ended_even_if_it_catches_every_error() -> None:
    def endless() -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    with pytest.raises(TooSlow):
        within(0.2, endless)
    assert not [thread for thread in threading.enumerate() if thread.name == "limited"]
