"""The published tables beside the model's figures, and the fit that made its constants.

`python -m tests.runtimes.fpga.published` prints the tables of runtimes/fpga/README.md.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from runtimes.execution import AfterCompletion
from runtimes.fpga.card.compiler import Compiled, compile_graph
from runtimes.fpga.card.timing import latency_us, simulate
from runtimes.fpga.cards import load_card
from tests.runtimes.fpga.graphs import cnn_step, lstm_step

CONSTANTS = ("V80 sdk25 io_us", "V80 sdk26 io_us", "IA io_us", "IA dma_us")


@dataclass(frozen=True)
class Row:
    """One line of the tables; the figures are None where the model does not fit the card."""

    model: str
    family: str
    layers: int
    width: int
    card: str
    release: str
    pacing: str
    fits: bool
    mean_us: float | None
    p99_us: float | None

    @property
    def idle_us(self) -> float:
        return math.inf if self.pacing == "spaced" else 0.0

    def error(self, mean_us: float) -> float:
        """Of a mean, in per cent."""
        return (mean_us / (self.mean_us or math.nan) - 1) * 100

    def compile(self) -> Compiled:
        step = cnn_step if self.family == "cnn" else lstm_step
        graph = step(self.layers, self.width).graph()
        return compile_graph(graph, load_card(self.card.lower()), self.release)


def read_rows() -> list[Row]:
    file = resources.files("assets") / "published" / "vollo_seed_tables.csv"
    return [
        Row(
            model=line["model"],
            family=line["family"],
            layers=int(line["layers"]),
            width=int(line["width"]),
            card=line["card"],
            release=line["release"],
            pacing=line["pacing"],
            fits=line["fits"] == "true",
            mean_us=float(line["mean_us"]) if line["mean_us"] else None,
            p99_us=float(line["p99_us"]) if line["p99_us"] else None,
        )
        for line in csv.DictReader(file.read_text("utf-8").splitlines())
    ]


@dataclass(frozen=True)
class Predicted:
    row: Row
    mean_us: float
    p99_us: float
    cycles_us: float

    @property
    def mean_error(self) -> float:
        """Per cent."""
        return self.row.error(self.mean_us)

    @property
    def p99_error(self) -> float:
        """Per cent."""
        assert self.row.p99_us is not None
        return (self.p99_us / self.row.p99_us - 1) * 100


@cache
def predict(row: Row) -> Predicted:
    program = row.compile()
    mean_us = latency_us(program, row.idle_us)
    gap_ns = 20_000 if row.pacing == "spaced" else 0
    samples = simulate(program, AfterCompletion(20_000, gap_ns), np.random.default_rng(1))
    idle = None if row.pacing == "spaced" else 0
    cycles = program.scheduler.after_idle(idle).cycles
    return Predicted(
        row,
        mean_us,
        float(np.percentile(samples.latency_ns, 99)) / 1e3,
        cycles / program.card.clock_mhz,
    )


def uses(row: Row) -> list[float]:
    """How often each of CONSTANTS goes into a row's latency."""
    if row.card == "V80":
        return [row.release == "sdk25", row.release == "sdk26", 0, 0]
    return [0, 0, 1, 2 * row.width > 256]


def fit(predictions: Sequence[Predicted]) -> np.ndarray:
    """CONSTANTS by least squares of the relative errors, microseconds."""
    means = np.array([p.row.mean_us for p in predictions], float)
    design = np.array([uses(p.row) for p in predictions], float) / means[:, None]
    rest = 1 - np.array([p.cycles_us for p in predictions]) / means
    return np.linalg.lstsq(design, rest, rcond=None)[0]


def held_out_errors(
    predictions: Sequence[Predicted], group_of: Callable[[Row], object]
) -> list[float]:
    """Per cent, each group of rows predicted with constants that were fitted without it.

    A constant that the rest does not determine is taken from the nearest table: a V80 release
    from the other one, and the V80 from the other cards.
    """
    errors = {}
    for group in dict.fromkeys(group_of(p.row) for p in predictions):
        rest = [p for p in predictions if group_of(p.row) != group]
        constants = dict(zip(CONSTANTS, fit(rest), strict=True))
        use_counts = np.array([uses(p.row) for p in rest], float).sum(axis=0).tolist()
        known_names = {name for name, uses_of in zip(CONSTANTS, use_counts, strict=True) if uses_of}
        for p in predictions:
            if group_of(p.row) == group:
                us = _nearest_us(p.row, constants, known_names) + p.cycles_us
                errors[p.row] = p.row.error(us)
    return [errors[p.row] for p in predictions]


def _nearest_us(row: Row, constants: Mapping[str, float], known_names: Collection[str]) -> float:
    names = [f"V80 {release} io_us" for release in (row.release, "sdk25", "sdk26")]
    own_names = [name for name in names if name in known_names] if row.card == "V80" else []
    if own_names:
        return constants[own_names[0]]
    if "IA io_us" not in known_names:
        return next(constants[name] for name in names if name in known_names)
    return constants["IA io_us"] + (2 * row.width > 256) * constants["IA dma_us"]


GROUPS: Mapping[str, Callable[[Row], object]] = {
    "a row": lambda row: row,
    "a family": lambda row: row.family,
    "a card": lambda row: row.card,
    "a table": lambda row: (row.family, row.card),
}
"""What is left out of the fit at a time."""


def fits_table(predictions: Sequence[Predicted]) -> str:
    """The README's table of how far means are off, by what the constants were fitted to."""
    mean_errors = [p.mean_error for p in predictions]
    lines = ["| constants fitted to | mean error | worst |", "| --- | --- | --- |"]
    for name, errors in (
        ("all twenty rows", mean_errors),
        *(
            (f"the rest, {name} left out", held_out_errors(predictions, g))
            for name, g in GROUPS.items()
        ),
    ):
        sizes = [abs(error) for error in errors]
        worst = max(errors, key=abs)
        lines.append(f"| {name} | {np.mean(sizes):.1f} % | {worst:+.1f} % |")
    return "\n".join(lines)


def table(predictions: Sequence[Predicted]) -> str:
    """The README's table."""
    lines = [
        "| model | card | release | pacing | published mean | model | error | left out "
        "| published p99 | model | error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    left_out = held_out_errors(predictions, GROUPS["a row"])
    zipped = list(zip(predictions, left_out, strict=True))
    for p, error in zipped:
        given = p.row
        lines.append(
            f"| {given.model} | {given.card} | {given.release} | {given.pacing} | {given.mean_us} "
            f"| {p.mean_us:.2f} | {p.mean_error:+.1f} % | {error:+.1f} % "
            f"| {given.p99_us} | {p.p99_us:.2f} | {p.p99_error:+.1f} % |"
        )
    sizes = np.abs([[p.mean_error, error, p.p99_error] for p, error in zipped])
    for name, row in (
        ("mean of the absolute errors", sizes.mean(axis=0)),
        ("worst", sizes.max(axis=0)),
    ):
        mean, held_out, p99 = (f"{size:.1f} %" for size in row)
        lines.append(f"| {name} | | | | | | {mean} | {held_out} | | | {p99} |")
    return "\n".join(lines)


def jitter_us(predictions: list[Predicted]) -> float:
    """The scale of an exponential whose p99 is as far above its mean as the tables' on average."""
    figures = [(p.row.p99_us, p.row.mean_us) for p in predictions]
    margins_us = [p99 - mean for p99, mean in figures if p99 is not None and mean is not None]
    return float(np.mean(margins_us)) / (math.log(100) - 1)


if __name__ == "__main__":
    found = [predict(row) for row in read_rows() if row.fits]
    sys.stdout.write(f"{table(found)}\n\n{fits_table(found)}\n\n")
    for name, value in zip(CONSTANTS, fit(found), strict=True):
        sys.stdout.write(f"{name} = {value:.3f}\n")
    sys.stdout.write(f"jitter_us = {jitter_us(found):.4f}\n")
