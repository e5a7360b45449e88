"""Cards as data: a TOML file in, a checked `Profile` out.

A profile is one card at one release, all that placement and timing need to know. A user's
own TOML file is a card like the ones beside this module, so a card that nobody has built
can be timed too.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from runtimes.faults import NotAvailable

DEFAULT_CARD = "v80"

_FOLDER = Path(__file__).parent / "cards"


class CardError(NotAvailable):
    """A card or release that is not known, or a card file that does not describe one."""


@dataclass(frozen=True, slots=True)
class Release:
    """What the host software of one release costs.

    `io_us` is a request's way in and out with the fill and drain of the fabric; more than
    `register_bytes` of input go by DMA and cost `dma_us` more. `recurrent_cores` is the
    number of cores that a recurrent layer uses, 0 for all.
    """

    name: str
    io_us: float
    register_bytes: int
    dma_us: float
    recurrent_cores: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """The fabric: `cores` cores, each multiplying one block x block tile a cycle.

    Depths are pipeline depths in cycles: of a matrix product, of a pass over blocks, of the
    update of a recurrent cell. `link_bytes_per_us` is the host link's rate and `jitter_us`
    the scale of the host's exponential jitter.
    """

    key: str
    name: str
    clock_mhz: float
    cores: int
    block: int
    tiles_per_core: int
    matrix_depth: int
    element_depth: int
    cell_depth: int
    link_bytes_per_us: float
    jitter_us: float
    newest: str
    releases: tuple[Release, ...]

    @property
    def tiles(self) -> int:
        """Tiles of weights that the whole card holds."""
        return self.cores * self.tiles_per_core

    def release(self, name: str = "") -> Release:
        """The release called `name`, the newest for ""; CardError names the nearest."""
        known = {release.name: release for release in self.releases}
        wanted = name or self.newest
        if wanted not in known:
            raise CardError(
                f"{self.name} has no release {wanted!r}{_nearest(wanted, known)}",
                f"use one of {', '.join(known)}",
            )
        return known[wanted]


def card_keys() -> tuple[str, ...]:
    """The cards that come with the project, by the name they have after `fpga:`."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load_card(key_or_path: str) -> Card:
    """A card by its key, or from a TOML file; CardError says what is wrong with it."""
    if key_or_path.endswith(".toml"):
        return _read(Path(key_or_path))
    if key_or_path not in card_keys():
        raise CardError(
            f"there is no card {key_or_path!r}{_nearest(key_or_path, card_keys())}",
            f"use one of {', '.join(card_keys())}, or the path of a card's .toml file",
        )
    return _read(_FOLDER / f"{key_or_path}.toml")


def is_published(card: Card) -> bool:
    """Whether it is one of ours with no figure changed, so that published tables speak of it."""
    return card.key in card_keys() and load_card(card.key) == card


def _read(path: Path) -> Card:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CardError(f"{path} can't be read ({error.strerror})", "check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CardError(f"{path} is not TOML ({error})", "mend the file") from None
    tables = data.pop("releases", None)
    if not isinstance(tables, dict) or not tables:
        raise CardError(f"{path} has no release", "add a table [releases.NAME] with io_us")
    releases = []
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise CardError(f"{path}: releases.{name} is not a table", "write [releases.NAME]")
        values = _checked(Release, {**table, "name": name}, f"{path} [releases.{name}]")
        releases.append(Release(**values))
    data.setdefault("key", path.stem)
    checked = _checked(Card, {**data, "releases": tuple(releases)}, str(path))
    card = Card(**checked)
    card.release()
    for release in card.releases:
        if release.io_us < card.jitter_us:
            raise CardError(
                f"{path} [releases.{release.name}]: io_us = {release.io_us} is less than the "
                f"host's jitter_us = {card.jitter_us}",
                "correct one of them",
            )
    return card


_ZERO_ALLOWED = {"io_us", "register_bytes", "dma_us", "jitter_us", "recurrent_cores"}


def _checked(kind: type, data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """`data` with every field of `kind` present and no others, and all numbers sane."""
    types = {field.name: str(field.type) for field in fields(cast(Any, kind))}
    optional = {"recurrent_cores"}
    for name in data:
        if name not in types:
            raise CardError(f"{where}: {name!r} is not known{_nearest(name, types)}", "remove it")
    for name, wanted in types.items():
        if name not in data:
            if name in optional:
                continue
            raise CardError(f"{where}: {name} is missing", f"add {name} = a {_WORDS[wanted]}")
        if wanted in _WORDS:
            _check_value(name, data[name], wanted, where)
    return dict(data)


_WORDS = {"int": "whole number", "float": "number", "str": "text"}


def _check_value(name: str, value: object, wanted: str, where: str) -> None:
    if wanted == "str":
        good = isinstance(value, str) and bool(value)
    elif wanted == "int":
        good = isinstance(value, int) and not isinstance(value, bool)
    else:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good:
        raise CardError(f"{where}: {name} = {value!r} is not a {_WORDS[wanted]}", "correct it")
    if isinstance(value, (int, float)):
        least = 0 if name in _ZERO_ALLOWED else 1e-9
        if not least <= value < float("inf"):
            bound = "zero or more" if least == 0 else "more than zero"
            raise CardError(f"{where}: {name} = {value} must be {bound}", "correct it")


def _nearest(wanted: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(wanted, list(known), n=1, cutoff=0.0)
    return f"; the nearest is {near[0]!r}" if near else ""
