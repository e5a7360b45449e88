"""What an adapter reads from `Settings` before it touches its engine."""

from __future__ import annotations

from collections.abc import Mapping

from runtimes.base import Option, OptionValue, Runtime, Settings
from runtimes.faults import Unsupported

SESSIONS = Option(
    "sessions",
    1,
    "how many sessions run at once on the device, each in a thread of its own",
    minimum=1,
    maximum=64,
)


def all_options(runtime: Runtime, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Every option of the runtime with its value: the given one, else the default."""
    return {option.name: option.default for option in runtime.options} | dict(given)


def sessions_of(runtime: Runtime, given: Mapping[str, OptionValue]) -> int:
    """How many sessions a case runs at once; 1 for a runtime without the option."""
    return int(all_options(runtime, given).get(SESSIONS.name, SESSIONS.default))


def chosen(runtime: Runtime, settings: Settings) -> dict[str, OptionValue]:
    """Every option of the runtime with its value; Unsupported names one it does not know."""
    values = {option.name: option.default for option in runtime.options}
    for name, value in settings.options.items():
        if name not in values:
            known = ", ".join(values) or "none"
            raise Unsupported(f"{runtime.name} has no option {name!r}", f"its options are: {known}")
        values[name] = value
    for option in runtime.options:
        try:
            option.parse(str(values[option.name]))
        except ValueError as error:
            raise Unsupported(f"{runtime.name}: {error}") from None
    return values
