"""What the parent knows of runtimes without importing an engine."""

from __future__ import annotations

import pytest

from app.machine.installed_runtimes import clock_of
from runtimes import registry


@pytest.mark.parametrize("name", registry.names())
def test_only_the_card_is_simulated(name: str) -> None:
    assert clock_of(name) == ("simulated" if name == "fpga" else "wall")


def test_a_card_is_simulated_whichever_it_is() -> None:
    assert clock_of("fpga:nets/card.toml@sdk26") == "simulated"


def test_a_runtime_of_another_release_is_taken_as_measured() -> None:
    assert clock_of("ort-rocm:1") == "wall"
