"""Brief rounds for the modules of tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.brief import brief_rounds


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """The runs that a module makes in this process are brief, those of its fixtures too."""
    with brief_rounds():
        yield
