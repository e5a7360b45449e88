"""What is wrong with the values of a plan: pydantic's finding in our words."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from app.cases.errors import suggestion
from app.plan.settings.table import names_of_keys
from exporters.invalid_value import InvalidValue

_LONGEST = 80
"""So many characters of a value are shown."""


def in_words(
    error: ValidationError, plan: type[BaseModel], grid: type[BaseModel]
) -> tuple[str, str]:
    """The first fault as a cause and a remedy."""
    fault = error.errors(include_url=False)[0]
    place = [part for part in fault["loc"] if isinstance(part, str)]
    key = place[-1] if place else "plan"
    if fault["type"] == "extra_forbidden":
        known = names_of_keys((grid if "sweeps" in place[:-1] else plan).model_fields)
        return f"the key {key!r} is not known", suggestion(key, known)
    (where,) = names_of_keys([key])
    if fault["type"] == "missing":
        return f"{where} is missing", "add it"
    if fault["type"] == "too_short":
        return f"{where} is empty, so there is nothing to measure", "give at least one value"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "value_error":
        own_error = fault.get("ctx", {}).get("error")
        invalid = own_error if isinstance(own_error, InvalidValue) else InvalidValue(message)
        shown = "" if invalid.key else f"{where} {_shown(fault['input'])} "
        return f"{shown}{invalid.cause}", invalid.remedy
    return f"{where} = {_shown(fault['input'])} is not valid", _lower(message)


def _shown(value: object) -> str:
    """The value, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number with too many digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _lower(message: str) -> str:
    message = message.replace("Input should", "it should")
    return message[:1].lower() + message[1:]
