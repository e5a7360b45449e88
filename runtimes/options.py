"""What an adapter reads from `Settings` before it touches its engine."""

from __future__ import annotations

from collections.abc import Mapping

from runtimes.base import NotAvailable, OptionValue, Runtime, Settings, Unsupported


def all_options(runtime: Runtime, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Every option of the runtime with its value: the given one, else the default."""
    return {option.name: option.default for option in runtime.options} | dict(given)


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


def refuse_device(runtime: Runtime, settings: Settings) -> None:
    """Raise NotAvailable if the case names a device or a release where there is no choice."""
    for part, mark in ((settings.device, ":"), (settings.release, "@")):
        if part:
            raise NotAvailable(f"{runtime.name} has no {mark}{part}", f"write {runtime.name} alone")
