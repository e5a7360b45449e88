"""Cards as data: a TOML file in, a checked `Card` out.

A card at one of its releases is all that placement and timing need to know. A user's own TOML
file is a card like the ones beside this module, so a card that nobody has built can be timed.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from exporters.file_access import read_toml
from exporters.types import nearest
from runtimes.errors import NotAvailable, RuntimeFault, Unsupported

WAYS: Mapping[str, str] = {"MMIO": "register writes", "User buffers": "DMA"}
"""The table's modes that any program can use, and what they are. Buffers that a program has to
allocate for the card ("Raw DMA buffers") are not among them."""
_FOLDER = Path(__file__).parent
_STRICT_CONFIG = ConfigDict(strict=True, extra="forbid")
_PREFIX = "link_"


@dataclasses.dataclass(frozen=True, slots=True)
class Transfer:
    """A request's round trip over the link; `way` is a value of WAYS."""

    way: str
    mean_us: float
    p99_us: float


@dataclasses.dataclass(frozen=True, slots=True)
class LinkTable:
    """`ways` -> (output bytes, input bytes) -> (mean, p99) in microseconds."""

    sizes: tuple[int, ...]
    ways: Mapping[str, Mapping[tuple[int, int], tuple[float, float]]]

    def transfer(self, input_bytes: int, output_bytes: int) -> Transfer:
        """The fastest way at these sizes."""
        transfers = [self.by_way(way, input_bytes, output_bytes) for way in WAYS.values()]
        return min(transfers, key=lambda transfer: transfer.mean_us)

    def by_way(self, way: str, input_bytes: int, output_bytes: int) -> Transfer:
        """The same by one of WAYS."""
        mode = next(mode for mode, name in WAYS.items() if name == way)
        return Transfer(way, *self._interpolate(self.ways[mode], output_bytes, input_bytes))

    def _interpolate(
        self,
        table: Mapping[tuple[int, int], tuple[float, float]],
        output_bytes: int,
        input_bytes: int,
    ) -> tuple[float, float]:
        """Between four points, linear in the logarithms of the sizes; beyond the largest size at
        the rate of the last two, below the smallest one its time. How far the p99 is above the mean
        does not grow beyond the table."""
        mean = self._figure(table, output_bytes, input_bytes, 0)
        most = self.sizes[-1]
        inside = min(output_bytes, most), min(input_bytes, most)
        above = self._figure(table, *inside, 1) - self._figure(table, *inside, 0)
        return mean, mean + above

    def _figure(
        self,
        table: Mapping[tuple[int, int], tuple[float, float]],
        output_bytes: int,
        input_bytes: int,
        figure: int,
    ) -> float:
        rows, columns = (_weights(self.sizes, size) for size in (output_bytes, input_bytes))
        return sum(a * b * table[out, inp][figure] for out, a in rows for inp, b in columns)


def _weights(sizes: Sequence[int], size: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """The two sizes of the table beside this one, each with its weight; they add up to 1."""
    low, high = next((pair for pair in pairwise(sizes) if size <= pair[1]), (sizes[-2], sizes[-1]))
    if size > high:
        share = (size - low) / (high - low)
    else:
        share = log2(max(size, low) / low) / log2(high / low)
    return (low, 1.0 - share), (high, share)


@cache
def link_tables() -> tuple[str, ...]:
    """The names of the tables beside this module."""
    return tuple(sorted(path.stem.removeprefix(_PREFIX) for path in _FOLDER.glob("link_*.csv")))


@cache
def link_table(name: str) -> LinkTable:
    """One of `link_tables`."""
    ways: dict[str, dict[tuple[int, int], tuple[float, float]]] = {mode: {} for mode in WAYS}
    with (_FOLDER / f"{_PREFIX}{name}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["mode"] in ways:
                point = int(row["output_bytes"]), int(row["input_bytes"])
                ways[row["mode"]][point] = float(row["mean_us"]), float(row["p99_us"])
    sizes = sorted({size for table in ways.values() for pair in table for size in pair})
    return LinkTable(tuple(sizes), ways)


HIGHEST_DSP_MHZ = 750.0
"""Of all parts of the packaged cards whose figure is public, README.md, "Sources"."""


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class Part:
    """Resources of a part. `multiplications_per_dsp` are floating-point products that one DSP block
    completes each cycle, `memory_bytes` is all memory on the chip. `dsp_max_mhz` is 0 where no
    figure is public; then the highest of another part that the packaged cards have is the limit.

    `external_bytes` is memory on the card but outside the chip, read and written at
    `external_bytes_per_us`; 0 where the card's file gives none.
    """

    name: Annotated[str, Field(min_length=1)]
    dsp_blocks: Annotated[int, Field(gt=0)]
    multiplications_per_dsp: Annotated[int, Field(gt=0)]
    memory_bytes: Annotated[int, Field(gt=0)]
    dsp_max_mhz: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    external_bytes: Annotated[int, Field(ge=0)] = 0
    external_bytes_per_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @property
    def multiplications(self) -> int:
        """Products a cycle of all DSP blocks."""
        return self.dsp_blocks * self.multiplications_per_dsp

    def excess(self, multiplications: int, weight_bytes: int, clock_mhz: float) -> str:
        """What of a design exceeds the part; "" where nothing known does."""
        for label, needed_amount, part_amount in (
            ("multiplications a cycle", multiplications, self.multiplications),
            ("bytes of weight memory", weight_bytes, self.memory_bytes),
            (
                "MHz in its DSP blocks",
                clock_mhz,
                self.dsp_max_mhz or HIGHEST_DSP_MHZ,
            ),
        ):
            if needed_amount > part_amount:
                return (
                    f"{needed_amount:.12g} {label}, and the part {self.name} has {part_amount:.12g}"
                )
        return ""


DEFAULT_CARD = "v80"

BF16_BYTES = 2

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(gt=0)]
CountOrZero = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
AmountOrZero = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class CardError(NotAvailable):
    """A card or release that is not known, or a card file that does not describe one."""


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class PublishedTable:
    """A published table of latencies of spaced requests: whose models have these operators with
    weights, and numbers of layers and widths (channels, hidden size) within these bounds."""

    operators: tuple[Text, ...]
    layers: tuple[Count, Count]
    width: tuple[Count, Count]


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class Release:
    """What the host software of one release costs.

    `io_us` is a request's way in and out with the fill and drain of the fabric; more than
    `register_bytes` of input go by DMA and cost `dma_us` more. With `link`, the way in and out is
    that table's (`link.py`), and `io_us` the fill and drain alone. `recurrent_cores` is the number
    of cores that a recurrent layer uses, 0 for all. `works_ahead` says whether the card computes
    between two requests what depends on held state alone. `published` are the tables of network
    latencies that were published for it.
    """

    name: Text
    io_us: AmountOrZero
    register_bytes: CountOrZero
    dma_us: AmountOrZero
    recurrent_cores: CountOrZero = 0
    works_ahead: bool = True
    link: str = ""
    published: tuple[PublishedTable, ...] = ()


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class Card:
    """The fabric: `cores` cores, each multiplying one block x block tile a cycle.

    Depths are pipeline depths in cycles: of a matrix product, of a pass over blocks, of the
    update of a recurrent cell. `link_bytes_per_us` is the host link's rate and `jitter_us`
    the scale of the host's exponential jitter. `part` is the FPGA on the card, None where its file
    does not describe it.
    """

    key: Text
    name: Text
    clock_mhz: Amount
    cores: Count
    block: Count
    tiles_per_core: Count
    matrix_depth: Count
    element_depth: Count
    cell_depth: Count
    link_bytes_per_us: Amount
    jitter_us: AmountOrZero
    newest: Text
    releases: tuple[Release, ...]
    part: Part | None = None

    @property
    def tiles(self) -> int:
        """Tiles of weights that the whole card holds."""
        return self.cores * self.tiles_per_core

    @property
    def multiplications(self) -> int:
        """Products a cycle: each core multiplies one tile."""
        return self.cores * self.block**2

    @property
    def weight_bytes(self) -> int:
        """The memory of all tiles."""
        return self.tiles * self.block**2 * BF16_BYTES

    @property
    def activation_bytes(self) -> int | None:
        """Memory on the chip that weights leave, at most; None where no known part holds them."""
        if self.part is None or self.excess:
            return None
        return self.part.memory_bytes - self.weight_bytes

    @property
    def excess(self) -> str:
        """What of the design exceeds its part; "" where nothing does or the part is unknown."""
        if self.part is None:
            return ""
        return self.part.excess(self.multiplications, self.weight_bytes, self.clock_mhz)

    def has_release(self, name: str) -> bool:
        """Whether there is one called so; "" is the newest."""
        return not name or any(release.name == name for release in self.releases)

    def release(self, name: str = "") -> Release:
        """The release called `name`, the newest for ""; CardError names the nearest."""
        releases = {release.name: release for release in self.releases}
        release_name = name or self.newest
        if release_name not in releases:
            raise CardError(
                f"{self.name} has no release {release_name!r}{_nearest(release_name, releases)}",
                f"use one of {', '.join(releases)}",
            )
        return releases[release_name]


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
    return card.key in card_keys() and not changed_figures(card)


def changed_figures(card: Card) -> Mapping[str, tuple[Any, Any]]:
    """Fields of one of our cards that differ from the public design: (this, public)."""
    if card.key not in card_keys():
        return {}
    public = load_card(card.key)
    pairs = {name: (getattr(card, name), getattr(public, name)) for name in _FIGURES}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _read(path: Path) -> Card:
    try:
        data = read_toml(path)
    except OSError as error:
        raise CardError(f"{path} can't be read ({error.strerror})", "check the path") from None
    except ValueError as error:
        raise CardError(f"{path} is not TOML ({error})", "mend the file") from None
    tables = data.pop("releases", None)
    if not isinstance(tables, dict) or not tables:
        raise CardError(f"{path} has no release", "add a table [releases.NAME] with io_us")
    releases = []
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise CardError(f"{path}: releases.{name} is not a table", "write [releases.NAME]")
        where = f"{path} [releases.{name}]"
        published_tables = _read_published(table.pop("published", []), where)
        values = {**table, "name": name, "published": published_tables}
        release = _validate(Release, values, where)
        if release.link and release.link not in link_tables():
            raise CardError(
                f"{where}: there is no link table {release.link!r}",
                f"use one of {', '.join(link_tables())}",
            )
        releases.append(release)
    data.setdefault("key", path.stem)
    if isinstance(data.get("part"), dict):
        data["part"] = _validate(Part, data["part"], f"{path} [part]")
    card = _validate(Card, {**data, "releases": tuple(releases)}, str(path))
    if card.excess:
        raise CardError(f"{path}: the card needs {card.excess}", "correct the design or [part]")
    card.release()
    for release in card.releases:
        if not release.link and release.io_us < card.jitter_us:
            raise CardError(
                f"{path} [releases.{release.name}]: io_us = {release.io_us} is less than the "
                f"host's jitter_us = {card.jitter_us}",
                "correct one of them",
            )
    return card


def _read_published(tables: Any, where: str) -> tuple[PublishedTable, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise CardError(
            f"{where}: published is no list of tables", "write [[releases.NAME.published]]"
        )
    # TOML has lists where our values are tuples.
    frozen = [
        {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
        for table in tables
    ]
    return tuple(_validate(PublishedTable, table, f"{where}.published") for table in frozen)


_FIGURES = tuple(Card.__dataclass_fields__)

_Made = TypeVar("_Made", Card, Release, PublishedTable, Part)


def _validate(kind: type[_Made], data: Mapping[str, Any], where: str) -> _Made:
    """`kind` from the fields of a table; CardError names the first that is wrong."""
    try:
        return kind(**data)
    except ValidationError as error:
        known = kind.__dataclass_fields__
        cause, remedy = _explain_error(error.errors(include_url=False)[0], known)
        raise CardError(f"{where}: {cause}", remedy) from None


_KINDS = {"int": "an integer", "float": "a number", "string": "a text"}


def _explain_error(error: ErrorDetails, known: Iterable[str]) -> tuple[str, str]:
    """What is wrong with a field, and what to do."""
    name, kind, value = str(error["loc"][0]), error["type"], error["input"]
    match kind:
        case "missing":
            return f"{name} is missing", f"add it, as {DEFAULT_CARD}.toml has it"
        case "unexpected_keyword_argument":
            return f"{name!r} is not known{_nearest(name, known)}", "remove it"
        case "greater_than":
            return f"{name} = {value} must be more than zero", "correct it"
        case "greater_than_equal":
            return f"{name} = {value} must be zero or more", "correct it"
        case "finite_number":
            return f"{name} = {value} is not a finite number", "correct it"
    word = _KINDS.get(kind.partition("_")[0], "a value of the right kind")
    return f"{name} = {value!r} is not {word}", "correct it"


def _nearest(name: str, known_names: Iterable[str]) -> str:
    suggestions = get_close_matches(name, list(known_names), n=1, cutoff=0.0)
    return f"; the nearest is {suggestions[0]!r}" if suggestions else ""


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


@dataclasses.dataclass(frozen=True, slots=True)
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
            remedy = nearest(name, _NAMES, f"use {', '.join(_NAMES)}")
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
