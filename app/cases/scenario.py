"""Words of a case's load: the scenario (when the next run begins), the batcher, the condition."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from app.cases.units import (
    TIME,
    divided,
    duration_text,
    microseconds,
    parse_duration,
    plain,
    time_text,
)
from exporters.size import parse_size, size_text
from exporters.types import InvalidValue

ScenarioKind = Literal[
    "closed_loop", "paced", "rate", "poisson", "burst", "multistream", "offline", "ahead"
]
WaitPolicy = Literal["spin", "hybrid", "sleep"]
WAIT_POLICIES: tuple[WaitPolicy, ...] = get_args(WaitPolicy)

MINIMUM_RATE_HZ, MAXIMUM_RATE_HZ = 0.01, 10e6
"""Rates beyond are refused: no round is so long, no clock so fine."""
MAXIMUM_BURST = 10_000
LONGEST_PAUSE_US = 24 * 3600e6
"""No round waits so long between two runs."""

_FIGURES = {
    "gap": TIME,
    "period": TIME,
    "count": r"(?P<count>[0-9]{1,20})",
    # To a millionth of a request in a second, as `str` writes it: a case is known by that text.
    "rate": r"(?P<rate>[0-9]{1,20}(?:\.[0-9]{1,6})?)",
}


@dataclass(frozen=True, slots=True)
class Form:
    """How a kind of scenario is written and called.

    `figures` follow its name, such as `{count}@{period}`, "" where it takes none, and `example` are
    some. `label` and `hint` are for the window's form, `help` is a line for the example, `meaning`
    a sentence or two for any. Of an open loop `due` says how its runs are due.
    """

    label: str
    help: str
    meaning: str
    figures: str = ""
    example: str = ""
    hint: str = ""
    due: Literal["", "evenly", "at random", "together"] = ""

    @property
    def pattern(self) -> str:
        """Of what follows the name."""
        return f":{self.figures.format(**_FIGURES)}" if self.figures else ""


FORMS: dict[ScenarioKind, Form] = {
    "closed_loop": Form(
        "closed loop",
        "the next run begins when the last one ended (default)",
        "The next inference starts as soon as the last one has finished.",
    ),
    "paced": Form(
        "paced by",
        "the next run begins 20 µs after the last one ended",
        "The next inference starts a fixed gap after the last one has finished.",
        "{gap}",
        "20us",
        "gaps between runs, such as 20us, 1ms",
    ),
    "rate": Form(
        "at a rate of",
        "200 requests a second, evenly (open loop)",
        "Requests are due at this rate, evenly, independently of completions. Latency counts from "
        "when a request was due.",
        "{rate}/s",
        "200/s",
        "rates, such as 100/s, 200/s",
        "evenly",
    ),
    "poisson": Form(
        "poisson, on average",
        "200 requests a second, at random times (open loop)",
        "Requests are due at random times with this average rate, as from many users. The times "
        "are drawn beforehand; latency counts from when a request was due.",
        "{rate}/s",
        "200/s",
        "rates, such as 100/s, 200/s",
        "at random",
    ),
    "burst": Form(
        "bursts of",
        "8 requests at once, every 10 ms (open loop)",
        "This many requests are due at once, again and again after a fixed time. Latency counts "
        "from when they were due.",
        "{count}@{period}",
        "8@10ms",
        "how many at once, and how far apart: 8@10ms",
        "together",
    ),
    "multistream": Form(
        "multistream of",
        "8 requests at once, the next 8 when all are answered",
        "This many runs begin at once, the next ones when all are answered. One sample is all of "
        "them.",
        "{count}",
        "8",
        "how many at once, such as 4, 8",
    ),
    "offline": Form(
        "offline",
        "all requests are there at once: throughput",
        "All runs are queued at the start and processed on all lanes. The result is the inputs per "
        "second.",
    ),
    "ahead": Form(
        "queued ahead",
        "8 runs are queued ahead on a GPU: its own throughput",
        "This many runs are queued on a GPU, with one wait for all of them. The result is the "
        "inputs per second; no run has a latency.",
        "{count}",
        "8",
        "how many for each wait, such as 8, 64",
    ),
}


def example_of(kind: ScenarioKind) -> str:
    """`burst:8@10ms`, `closed_loop`."""
    return ":".join(filter(None, (kind, FORMS[kind].example)))


def examples(open_loop: bool = False) -> str:
    """One of each kind, or of each open loop."""
    *words, last = (example_of(kind) for kind, form in FORMS.items() if form.due or not open_loop)
    return f"{', '.join(words)} or {last}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """When the next run begins.

    `gap_us` after the last of a paced one, `rate_hz` times a second, `count` at once, these every
    `period_us`: see `FORMS`.
    """

    kind: ScenarioKind = "closed_loop"
    gap_us: float = 0.0
    rate_hz: float = 0.0
    count: int = 0
    period_us: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        kind = text.partition(":")[0]
        form = FORMS.get(kind)  # type: ignore[call-overload]
        match = re.fullmatch(form.pattern, text[len(kind) :]) if form is not None else None
        if form is None or match is None:
            raise InvalidValue(f"{text!r} is not known", f"use {examples()}")
        groups = match.groupdict()
        time_us = microseconds(groups.get("time") or "0", groups.get("unit") or "us")
        rate_hz, count = float(groups.get("rate") or 0), int(groups.get("count") or 0)
        if "rate" in groups and not MINIMUM_RATE_HZ <= rate_hz <= MAXIMUM_RATE_HZ:
            raise InvalidValue(
                f"{text!r} asks for a rate that can't be measured",
                f"use {MINIMUM_RATE_HZ:g}/s to {MAXIMUM_RATE_HZ:.0f}/s",
            )
        if "count" in groups and not 1 <= count <= MAXIMUM_BURST:
            raise InvalidValue(f"{text!r} asks for {count} at once", f"use 1 to {MAXIMUM_BURST}")
        has_period = "{period}" in form.figures
        if has_period and not time_us:
            raise InvalidValue(f"{text!r} has no time between its bursts", "use burst:8@10ms")
        if time_us > LONGEST_PAUSE_US:
            raise InvalidValue(f"{text!r} pauses for more than a day", "use at most 86400s")
        return cls(kind, time_us * (not has_period), rate_hz, count, time_us * has_period)  # type: ignore[arg-type]

    @property
    def form(self) -> Form:
        return FORMS[self.kind]

    @property
    def is_open_loop(self) -> bool:
        """Whether runs are due at times fixed beforehand: latency then counts from these."""
        return bool(self.form.due)

    @property
    def arrivals_hz(self) -> float:
        """How many runs are due in a second of an open loop; 0 of any other."""
        return self.rate_hz or (self.count * 1e6 / self.period_us if self.period_us else 0.0)

    @property
    def waits(self) -> bool:
        """Whether there is a pause to wait out, so that it matters how."""
        return self.is_open_loop or self.gap_us > 0

    @property
    def words(self) -> str:
        """The same as one writes it, `burst:8@10ms`; `str` keeps to microseconds."""
        return self._with(time_text(self.gap_us), time_text(self.period_us))

    def __str__(self) -> str:
        return self._with(f"{plain(self.gap_us)}us", f"{plain(self.period_us)}us")

    def _with(self, gap: str, period: str) -> str:
        if not self.form.figures:  # as of most cases of large sweeps
            return self.kind
        rate = f"{self.rate_hz:.6f}".rstrip("0").rstrip(".")
        figures = self.form.figures.format(gap=gap, period=period, rate=rate, count=self.count)
        return f"{self.kind}:{figures}"


CLOSED_LOOP = Scenario()


MAXIMUM_BATCH, LONGEST_WAIT_US = 1024, 10e6
"""No server collects more, and nobody waits so long to be asked."""
NO_BATCHER = "none"

_FORM = rf"max=(?P<most>[0-9]{{1,20}}),wait={TIME}"


@dataclass(frozen=True, slots=True)
class Batcher:
    """Requests of one input each are sent together, up to `most` of them.

    A batch is sent when `most` are waiting or the oldest has waited `wait_us`, whichever comes
    first, and the server is free. With a wait of 0 whatever waits is sent as soon as it is free.
    """

    most: int
    wait_us: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """The word as `str` gives it; ValueError with one sentence."""
        match = re.fullmatch(_FORM, text)
        if match is None:
            raise InvalidValue(
                f"{text!r} is not known", f"use {NO_BATCHER}, or such as max=8,wait=2ms"
            )
        maximum = int(match["most"])
        wait_us = microseconds(match["time"], match["unit"])
        if not 1 <= maximum <= MAXIMUM_BATCH:
            raise InvalidValue(
                f"{text!r} collects {maximum} requests", f"use max=1 to max={MAXIMUM_BATCH}"
            )
        if wait_us > LONGEST_WAIT_US:
            raise InvalidValue(f"{text!r} waits too long", "use at most wait=10s")
        if wait_us != round(wait_us * 1e3) / 1e3:
            raise InvalidValue(f"{text!r} waits for part of a nanosecond", "use whole ones")
        return cls(maximum, wait_us)

    @property
    def wait_ns(self) -> int:
        return round(self.wait_us * 1e3)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The batches that the graph is compiled for, ascending: powers of two, then `most`.

        As TensorFlow Serving's `allowed_batch_sizes`: a batch is filled up to the next of them.
        """
        powers = (1 << power for power in range(self.most.bit_length()))
        return (*(size for size in powers if size < self.most), self.most)

    def size_for(self, requests: int) -> int:
        """The smallest of `sizes` that holds so many requests, from 1 to `most`."""
        return self.sizes[bisect_left(self.sizes, requests)]

    def __str__(self) -> str:
        in_ms = self.wait_us >= 1e3
        wait = divided(self.wait_us, 1e3) if in_ms else plain(self.wait_us)
        return f"max={self.most},wait={wait}{'ms' if in_ms else 'us'}"


def parse_batcher(text: str) -> Batcher | None:
    """The batcher of a word, None of `none`; ValueError with one sentence."""
    return None if text == NO_BATCHER else Batcher.parse(text)


@dataclass(frozen=True, slots=True)
class Shapes:
    """`sizes` [n] gives each of the `axes` a size; `weights` [n] are to each other as often as the
    shapes come."""

    axes: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]

    @property
    def points(self) -> tuple[Mapping[str, int], ...]:
        """The sizes of each shape by its axes."""
        return tuple(dict(zip(self.axes, sizes, strict=True)) for sizes in self.sizes)

    @property
    def sha256(self) -> str:
        """Names what is in the file, wherever it lies and however it is laid out."""
        content = json.dumps([self.axes, self.sizes, self.weights], separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


ConditionKind = Literal["none", "cold", "cold-l2", "sustained", "with", "shapes"]

MINIMUM_COLD_BYTES = 4096
"""A page: less pollutes nothing."""
MINIMUM_SUSTAINED_S, MAXIMUM_SUSTAINED_S = 1.0, 7 * 24 * 3600.0
_CONDITION_EXAMPLES = "none, cold:64MB, cold-l2, sustained:30min, with:MODEL or shapes:FILE"


@dataclass(frozen=True, slots=True)
class Condition:
    """`cold`: between two runs so many `bytes` go through the caches of the core that runs.
    `cold-l2`: the cache that a GPU's multiprocessors share is overwritten between two runs.

    `sustained`: each round measures for `seconds`, so that its end can be held against its
    beginning. `with`: another `model` is at work beside the one that is measured. `shapes`: one
    session serves the shapes of a `file`, which are here once a plan is expanded.
    """

    kind: ConditionKind = "none"
    bytes: int = 0
    seconds: float = 0.0
    model: str = ""
    file: str = ""
    shapes: Shapes | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        kind, colon, figure = text.partition(":")
        if text == "none":
            return cls()
        if text == "cold-l2":
            return cls("cold-l2")
        if kind not in _KINDS or not colon:
            raise InvalidValue(f"{text!r} is not known", f"use {_CONDITION_EXAMPLES}")
        try:
            return cls(**_KINDS[kind](figure))
        except InvalidValue as error:
            raise error.of(repr(text)) from None

    def __str__(self) -> str:
        figures = {
            "cold": size_text(self.bytes),
            "sustained": duration_text(self.seconds),
            "with": self.model,
            "shapes": self.file,
        }
        return f"{self.kind}:{figures[self.kind]}" if self.kind in figures else self.kind

    @property
    def evicts(self) -> bool:
        """Whether caches are emptied between two runs."""
        return self.kind in ("cold", "cold-l2")

    @property
    def identity(self) -> str:
        """What a case is known by: of a file what is in it, so that it may lie anywhere."""
        return str(self) if self.shapes is None else f"shapes:{self.shapes.sha256}"

    @property
    def points(self) -> tuple[Mapping[str, int], ...]:
        """The sizes of each shape that a session serves; () where it has one shape."""
        return () if self.shapes is None else self.shapes.points

    @property
    def varied(self) -> frozenset[str]:
        """The axes whose sizes differ from run to run."""
        return frozenset(() if self.shapes is None else self.shapes.axes)


def _cold(figure: str) -> dict[str, Any]:
    size = parse_size(figure)
    if size < MINIMUM_COLD_BYTES:
        raise InvalidValue("is less than a page", f"use at least {size_text(MINIMUM_COLD_BYTES)}")
    return {"kind": "cold", "bytes": size}


def _parse_sustained(figure: str) -> dict[str, Any]:
    seconds = parse_duration(figure)
    if not MINIMUM_SUSTAINED_S <= seconds <= MAXIMUM_SUSTAINED_S:
        raise InvalidValue("is too short or too long", "use 1s to 168h")
    return {"kind": "sustained", "seconds": seconds}


def _with(model: str) -> dict[str, Any]:
    if not model:
        raise InvalidValue("names no model", "write it like with:mlp")
    return {"kind": "with", "model": model}


def _shapes(file: str) -> dict[str, Any]:
    if not file:
        raise InvalidValue("names no file", "write it like shapes:requests.csv")
    return {"kind": "shapes", "file": file}


_KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "cold": _cold,
    "sustained": _parse_sustained,
    "with": _with,
    "shapes": _shapes,
}

NO_CONDITION = Condition()
