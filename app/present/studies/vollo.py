"""The VOLLO latency tables: published, simulated, and this machine's runtimes, side by side.

Rows are models and columns are cards, as in the tables, which have one table for each card: here
the cards stand beside each other. What a card's model gives is of the simulated clock, what a
runtime of this machine takes is of a real one, and neither stands in a column of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.published_figures import CardRow, card_rows
from app.cases.status import INCOMPLETE
from app.formatting import text
from app.machine.installed_runtimes import clock_of
from app.present.document import Block, Column, Heading, Points, Table, names
from app.present.studies.study import Found, Lines, Study, case_at, cell, figure, lines_of
from runtimes.fpga.cards import load_card

_TITLES = {
    "cnn": "1D convolutional neural networks (CNN)",
    "lstm": "Long short term memory networks (LSTM)",
}
_WIDTHS = {"cnn": "Channels", "lstm": "Hidden size"}
_FIGURES = {"mean": "Mean latency", "p99": "99th percentile latency"}
_PACED_SCENARIO = "paced:20us"
_DOES_NOT_FIT = "does not fit"


@dataclass(frozen=True, slots=True)
class Compared:
    """A published row and the case that simulates it, None where the run has none."""

    row: CardRow
    simulated: MeasuredCase | None

    def published_us(self, name: str) -> float | None:
        return self.row.mean_us if name == "mean" else self.row.p99_us

    def error(self, name: str) -> float | None:
        """By how much the simulated figure is above the published one, as a share of that."""
        published_us, simulated_us = self.published_us(name), figure(self.simulated, _column(name))
        if published_us is None or simulated_us is None:
            return None
        return simulated_us / published_us - 1.0


def tables(results: Found) -> Iterator[Block]:
    """For the CNNs and for the LSTMs a table of means and one of p99, and how far the cards' model
    is off."""
    everything = [Compared(row, _simulated(results, row)) for row in card_rows()]
    for family in dict.fromkeys(pair.row.family for pair in everything):
        rows = [pair for pair in everything if pair.row.family == family]
        yield Heading(_TITLES[family])
        cards = {pair.row.card: pair.row for pair in rows}
        yield Points(tuple(map(_card_title, cards.values())))
        for name, title in _FIGURES.items():
            yield Heading(f"{family.upper()}: {title} (µs)", 3)
            yield _table(results, rows, name)
        yield Points(tuple(_errors(rows)))
    yield Heading("Both tables")
    yield Points(tuple(_errors(everything)))


def _table(results: Found, rows: Sequence[Compared], name: str) -> Table:
    cards = list(dict.fromkeys(pair.row.card for pair in rows))
    measured_lines = _lines_here(results, rows)
    headings = ("Layers", _WIDTHS[rows[0].row.family], "Parameters")
    columns = [*names("Model"), *map(Column, headings)]
    for card in cards:
        columns += [Column(heading, card) for heading in ("published", "simulated", "error")]
    columns += [Column("measured", label) for label in measured_lines]
    lines = []
    for model in dict.fromkeys(pair.row.model for pair in rows):
        pairs_by_card = {pair.row.card: pair for pair in rows if pair.row.model == model}
        first = next(iter(pairs_by_card.values())).row
        labels = (pair.row.parameters for pair in pairs_by_card.values())
        parameters = dict.fromkeys(filter(None, labels))
        line = [model, str(first.layers), str(first.width), ", ".join(parameters)]
        for card in cards:
            line += _pair_cells(pairs_by_card.get(card), name)
        line += [cell(case_at(m, model), _column(name), _us) for m in measured_lines.values()]
        lines.append(tuple(line))
    return Table(tuple(columns), tuple(lines))


def _pair_cells(one: Compared | None, name: str) -> Iterator[str]:
    """Published, simulated and error."""
    if one is None:
        yield from ("", "", "")
        return
    told, error = one.published_us(name), one.error(name)
    yield f"{told:.1f}" if told is not None else _DOES_NOT_FIT
    fits = not _is_refused(one.simulated)
    yield cell(one.simulated, _column(name), _us) if fits else _DOES_NOT_FIT
    yield "" if error is None else f"{100 * error:+.1f} %"


def _errors(rows: Sequence[Compared]) -> Iterator[str]:
    """How far simulated figures are from published ones, over all rows that have both."""
    fitting_pairs = [comparison for comparison in rows if comparison.row.fits]
    for name, title in _FIGURES.items():
        errors = [(abs(error), c) for c in fitting_pairs if (error := c.error(name)) is not None]
        if not errors:
            yield f"{title}: none of {len(fitting_pairs)} published figures is simulated yet"
            continue
        worst_error, worst = max(errors, key=lambda pair: pair[0])
        mean = sum(error for error, _ in errors) / len(errors)
        yield (
            f"{title}, simulated against published: {_share(mean)} off on average, "
            f"{_share(worst_error)} at worst ({worst.row.model} on {worst.row.card}), over "
            f"{len(errors)} of {len(fitting_pairs)} published figures"
        )
    unfit = [c.simulated for c in rows if not c.row.fits and _was_tried(c.simulated)]
    if unfit:
        refused_count = sum(map(_is_refused, unfit))
        yield (
            f"what does not fit a card, as its table states or implies: the card's model refuses "
            f"{refused_count} of {text.counted(len(unfit), 'model')}"
        )


def _was_tried(simulated: MeasuredCase | None) -> bool:
    return simulated is not None and simulated.row["status"] not in INCOMPLETE


def _is_refused(simulated: MeasuredCase | None) -> bool:
    return simulated is not None and simulated.row["status"] == "unsupported"


def _card_title(row: CardRow) -> str:
    card = load_card(row.card.lower())
    return (
        f"{row.card}: {card.cores} cores, block size {card.block}, release {row.release} "
        f"(inferred), inferences {row.pacing}; simulated as {row.runtime}, {_PACED_SCENARIO}"
    )


def _simulated(results: Found, row: CardRow) -> MeasuredCase | None:
    return results.one(
        lambda case: (
            case.model == row.model
            and case.runtime == row.runtime
            and str(case.scenario) == _PACED_SCENARIO
        )
    )


def _lines_here(results: Found, rows: Sequence[Compared]) -> Lines:
    """What ran these models by a real clock, spaced as the document has its inferences."""
    models = {pair.row.model for pair in rows}
    matching_cases = results.such(
        lambda case: (
            case.model in models
            and clock_of(case.runtime) != "simulated"
            and str(case.scenario) == _PACED_SCENARIO
        )
    )
    return lines_of(matching_cases)


def _column(name: str) -> str:
    return f"latency_{name}_us"


def _us(microseconds: float | None) -> str:
    return text.NOT_MEASURED if microseconds is None else text.significant(microseconds)


def _share(error: float) -> str:
    return f"{100 * error:.1f} %"


STUDY = Study(
    name="vollo",
    title="The VOLLO latency tables",
    repeats=(
        "The two latency tables that the vendor of VOLLO prints for its cards: one step of a "
        "network at batch 1 that keeps its state. Each published figure is followed by the "
        "prediction of our model of the card (no card was available) and its error, then by the "
        "same step on this machine's runtimes and clock, with 20 µs between two runs. The document "
        "states that inferences are spaced; the releases of the published rows are inferred."
    ),
    tables=tables,
)
