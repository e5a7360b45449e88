"""`graphlap runtimes`: every runtime and whether it can be used here; the options of one.

No engine is loaded: a runtime answers by what is installed.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.errors import PlanError, suggestion
from app.machine.available import availability, options_of, runtime
from app.present.document import Block, Paragraph, names, table
from runtimes import registry
from runtimes.base import Available
from runtimes.options import Option
from runtimes.registry import parse_spec


def runtimes_blocks() -> Iterator[Block]:
    """A row for each runtime."""
    rows = []
    for name in registry.names():
        state, known = availability(name), runtime(name)
        is_here = isinstance(state, Available)
        rows.append(
            (
                name,
                "available" if is_here else "unavailable",
                state.version if isinstance(state, Available) else "",
                known.clock,
                known.summary
                if isinstance(state, Available)
                else f"{state.reason}: {state.remedy}",
            )
        )
    yield table(names("runtime", "state", "version", "clock", "description"), rows)


def options_blocks(name: str) -> Iterator[Block]:
    """A row for each option of a runtime; PlanError for a name that there is not."""
    spec = parse_spec(name)
    if spec.name not in registry.names():
        raise PlanError(f"there is no runtime {name!r}", suggestion(spec.name, registry.names()))
    yield Paragraph(f"{name}: {runtime(spec.name).summary}")
    rows = [
        (f"{spec.name}.{option.name}", _values(option), str(option.default), option.help)
        for option in options_of(name)
    ]
    yield table(names("option", "values", "default", "meaning"), rows)


def _values(option: Option) -> str:
    if option.choices:
        return ", ".join(map(str, option.choices))
    kind = type(option.default).__name__
    bounds = " to ".join(f"{end:g}" for end in (option.minimum, option.maximum) if end is not None)
    return f"{kind}, {bounds}" if bounds else kind
