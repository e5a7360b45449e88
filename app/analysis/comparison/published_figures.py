"""Published figures, read from `assets/published`, for comparison; never measured here.

They are laid beside measured ones, always labelled as published.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, TypeAdapter

from exporters import install_layout

OptionalFigure = Annotated[float | None, BeforeValidator(lambda cell: cell or None)]
"""None of an empty cell."""


@dataclass(frozen=True, slots=True)
class Published:
    """One published figure of one model. `conditions` says how it was measured, as far as told;
    `pacing` is `spaced` where requests were.

    `runtime` is the runtime of ours that simulates the same device, empty if none does.
    Latencies in microseconds, at batch 1.
    """

    model: str
    source: str
    device: str
    conditions: str
    runtime: str = ""
    pacing: str = ""
    mean_us: float | None = None
    p99_us: float | None = None
    throughput_per_s: float | None = None
    accuracy_top1: float | None = None


@dataclass(frozen=True, slots=True)
class CardRow:
    """One row of the VOLLO tables, also of a model that does not fit the card: it has no figures.

    `release` is not in the tables but inferred.
    """

    model: str
    family: str
    layers: int
    width: int
    card: str
    parameters: Annotated[str, Field(alias="parameters_label")]
    fits: bool
    pacing: str
    release: str
    source: str
    mean_us: OptionalFigure
    p99_us: OptionalFigure

    @property
    def runtime(self) -> str:
        """The runtime of ours that simulates this card with this release."""
        return f"fpga:{self.card.lower()}@{self.release}"


@cache
def card_rows() -> tuple[CardRow, ...]:
    """The VOLLO tables, in their order."""
    return _rows(CardRow, "vollo_seed_tables.csv")


@dataclass(frozen=True, slots=True)
class NeurioBlock:
    """One configuration of a block of NeurIO's page: `part` is layers or cells, `config` counts
    from 1, `label` is the page's word for it."""

    part: str
    block: str
    config: int
    label: str
    model: str


@cache
def neurio_blocks() -> tuple[NeurioBlock, ...]:
    """The two tables of the page, row by row."""
    return _rows(NeurioBlock, "neurio_blocks.csv")


@cache
def published() -> tuple[Published, ...]:
    """Every published figure, source by source."""
    return (*_vollo(), *_lowlat(), *_char_cnn(), *_zoo())


def published_for(model: str) -> tuple[Published, ...]:
    """The published latencies and rates of one model, in the source's order."""
    return tuple(f for f in published() if f.model == model and (f.mean_us or f.throughput_per_s))


def _vollo() -> Iterator[Published]:
    for row in card_rows():
        if row.fits:
            yield Published(
                model=row.model,
                source=row.source,
                device=row.card,
                conditions=f"{row.pacing}, {row.release} (inferred)",
                runtime=f"fpga:{row.card.lower()}",
                pacing=row.pacing,
                mean_us=row.mean_us,
                p99_us=row.p99_us,
            )


def _lowlat() -> Iterator[Published]:
    """Measured on a GPU of another machine, by a program that is made for these networks."""
    for row in _table("lowlat_lstm.csv"):
        yield Published(
            model=row["model"],
            source="dl-lowlat-infer",
            device=row["device"],
            conditions=f"{row['workload']}, another machine",
            mean_us=float(row["mean_us"]),
            p99_us=float(row["p99_us"]),
        )


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One step of the character-level CNN's optimisation history, on top of those before."""

    step: str
    inputs_per_s: float


@cache
def history_steps() -> tuple[HistoryStep, ...]:
    """The history from its baseline on."""
    return _rows(HistoryStep, "char_cnn_history.csv")


@dataclass(frozen=True, slots=True)
class PrintedOperator:
    """One operator of the character-level CNN as its document prints it."""

    block: str
    operator: str


@cache
def printed_operators() -> tuple[PrintedOperator, ...]:
    """Those of the character-level CNN in its order."""
    return _rows(PrintedOperator, "char_cnn_operators.csv")


@dataclass(frozen=True, slots=True)
class ZooRow:
    """One network of dlmark's CNN study; `parameters` count running means and variances, `top1` is
    the share on ImageNet's validation set."""

    model: str
    family: str
    parameters: Annotated[int, Field(alias="parameters_with_running_stats")]
    top1: Annotated[OptionalFigure, Field(alias="published_top1")]


@cache
def zoo_rows() -> tuple[ZooRow, ...]:
    """The networks of the Gluon model zoo, family by family."""
    return _rows(ZooRow, "gluon_zoo.csv")


def _char_cnn() -> Iterator[Published]:
    """The history's last step: what its optimisation came to."""
    last = history_steps()[-1]
    yield Published(
        model="char_cnn",
        source="character-level CNN optimisation history",
        device="several GPUs",
        conditions=f"batch not stated, {last.step}",
        throughput_per_s=last.inputs_per_s,
    )


def _zoo() -> Iterator[Published]:
    for row in zoo_rows():
        yield Published(
            model=row.model,
            source="dlmark's CNN study",
            device="",
            conditions="ImageNet validation set",
            accuracy_top1=row.top1,
        )


T = TypeVar("T")


def _rows(kind: type[T], name: str) -> tuple[T, ...]:
    """The rows of one table as values."""
    return tuple(TypeAdapter(list[kind]).validate_python(_table(name)))  # type: ignore[valid-type]


def _table(name: str) -> list[dict[str, str]]:
    """The rows of one table; lines that begin with # are its comments."""
    text = install_layout.asset("published", name).read_text("utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
