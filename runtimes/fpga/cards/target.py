"""The provider's options: texts from ONNX Runtime in, a card at a release out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from runtimes.errors import RuntimeFault, Unsupported
from runtimes.fpga.cards import DEFAULT_CARD, Card, Release, load_card

_NUMBERS: Mapping[str, str] = {
    "clock": "clock_mhz",
    "cores": "cores",
    "block": "block",
    "tiles": "tiles_per_core",
}
"""Options that change one figure of the card, with the field of Card that each sets."""

_NAMES = ("card", "release", "cards", *_NUMBERS)


class OptionError(RuntimeFault):
    """A provider option that is unknown or has no such value."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a session is compiled for: `cards` equal cards at a release."""

    card: Card
    release: Release
    cards: int = 1


def read_target(texts: Mapping[str, str]) -> Target:
    """The card that options ask for: `card` a key or a .toml file, `release` one of its own,
    `clock` (MHz), `cores`, `block` and `tiles` (per core) in place of its own figures, `cards` how
    many such cards there are.

    OptionError for an unknown option or a value that is no positive number, CardError for
    an unknown card or release; both name the nearest that is known. Unsupported for a card that
    its part cannot hold.
    """
    for name in texts:
        if name not in _NAMES:
            suggestions = get_close_matches(name, _NAMES, n=1)
            remedy = (
                f"did you mean {suggestions[0]!r}" if suggestions else f"use {', '.join(_NAMES)}"
            )
            raise OptionError(f"there is no provider option {name!r}", remedy)
    card = load_card(texts.get("card", DEFAULT_CARD))
    release = card.release(texts.get("release", ""))
    changed_fields = {
        field: _positive(name, texts[name], whole=field != "clock_mhz")
        for name, field in _NUMBERS.items()
        if name in texts
    }
    changed_card = replace(card, **changed_fields)  # type: ignore[arg-type]
    if changed_card.excess:
        raise Unsupported(
            f"{', '.join(f'{name}={texts[name]}' for name in _NUMBERS if name in texts)}: "
            f"the card needs {changed_card.excess}",
            "use fewer or smaller cores, fewer tiles or a lower clock",
        )
    cards = int(_positive("cards", texts.get("cards", "1"), whole=True))
    return Target(changed_card, release, cards)


def provider_options(
    card: str = DEFAULT_CARD, release: str = "", **figures: float
) -> dict[str, str]:
    """Options as `SessionOptions.add_provider_for_devices` takes them, already checked.

    `figures` are any of `clock`, `cores`, `block` and `tiles`, as in `read_target`.
    """
    texts = {"card": card, "release": release} | {k: f"{v:g}" for k, v in figures.items()}
    read_target(texts)
    return texts


def _positive(name: str, text: str, whole: bool) -> int | float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        kind_name = "an integer" if whole else "a number"
        raise OptionError(f"{name}={text} is not usable", f"give {kind_name} above 0")
    return value
