"""The table of generators: for each operator the function that drafts its nodes."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.draft import Draft

Generator = Callable[[Draft], None]
GENERATORS: dict[tuple[str, str], Generator] = {}


def generator(*operators: str, domain: str = "") -> Callable[[Generator], Generator]:
    """Register a function that drafts nodes of these operators."""

    def register(function: Generator) -> Generator:
        for operator in operators:
            assert (domain, operator) not in GENERATORS, operator
            GENERATORS[domain, operator] = function
        return function

    return register
