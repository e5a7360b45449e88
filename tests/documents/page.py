"""The part of docs/studies.md that compares the founding documents with what reproduces them.

Errors are computed from the transcribed tables and the models of this program when it is written.
It has no figures of a machine: its commands measure them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from statistics import mean

from app.formatting.text import counted
from app.present.document import (
    Block,
    Column,
    Heading,
    Paragraph,
    Points,
    Table,
)
from app.present.terminal import as_markdown
from runtimes.errors import Unsupported
from tests.checkout import ROOT
from tests.runtimes.fpga.published import (
    GROUPS,
    Predicted,
    Row,
    held_out_errors,
    predict,
    read_rows,
)

PUBLISHED = ROOT / "assets" / "published"


@dataclass(frozen=True)
class Statement:
    """A definition, a figure or a claim. `answer` is the command or the file that reproduces it,
    `result` how the answer relates to it, `reason` why it differs or what limits it."""

    document: str
    kind: str
    statement: str
    answer: str
    result: str
    reason: str


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file; lines that begin with # are its comments."""
    lines = (PUBLISHED / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def statements() -> list[Statement]:
    return [Statement(**row) for row in rows_of("document_statements.csv")]


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """The rows of our catalogue by name."""
    file = (ROOT / "assets" / "catalogue.csv").read_text("utf-8")
    return {row["name"]: row for row in csv.DictReader(file.splitlines())}


def _char_cnn_counts() -> tuple[int, int]:
    """Parameters and multiply-accumulates of the character-level CNN, from its printed sizes.

    A bias for each output channel, and for each gain of a layer norm; what is no convolution and
    no linear layer computes no product with weights.
    """
    parameters = macs = 0
    for row in rows_of("char_cnn_operators.csv"):
        if not row["weight"]:
            continue
        weight, output = (
            [int(size) for size in row[key].split("x")] for key in ("weight", "output")
        )
        parameters += prod(weight)
        parameters += prod(weight) if row["operator"] == "layernorm" else weight[0]
        if row["operator"] in ("conv1d", "linear"):
            macs += prod(weight) * (output[1] if row["operator"] == "conv1d" else 1)
    return parameters, macs


PAGE = ROOT / "docs" / "studies.md"
_BEGIN, _END = "<!-- documents: begin -->\n", "<!-- documents: end -->\n"


def page(text: str) -> str:
    """The text of the page with this part anew."""
    head, _, rest = text.partition(_BEGIN)
    return f"{head}{_BEGIN}\n{as_markdown(blocks())}\n{_END}{rest.partition(_END)[2]}"


def blocks() -> Iterator[Block]:
    yield from _cards()
    yield Heading("Other documents")
    yield Points(tuple(_counts()))
    yield from _history()
    yield Heading("Definitions, figures and claims")
    every = statements()
    yield Paragraph(
        f"{counted(len(every), 'statement')} of the documents, each with what reproduces it, are "
        "in assets/published/document_statements.csv. These are not equal:"
    )
    yield _table(
        ("document", "statement", "reproduced by", "result", "reason"),
        [
            (
                statement.document,
                statement.statement,
                statement.answer,
                statement.result,
                statement.reason,
            )
            for statement in every
            if statement.result != "equal"
        ],
    )


def _cards() -> Iterator[Block]:
    rows = read_rows()
    predictions = [predict(row) for row in rows if row.fits]
    left_out = held_out_errors(predictions, GROUPS["a row"])
    yield Heading("VOLLO: latencies")
    yield Paragraph(
        "Simulated; the simulated card's page has each row. The constants of its model were fitted "
        "to the means of these rows, so an unknown network has a larger error."
    )
    unfit_rows = [row for row in rows if not row.fits]
    yield Points(tuple(_card_sentences(predictions, left_out, unfit_rows)))


def _card_sentences(
    results: Sequence[Predicted], left_out: Sequence[float], unfit_rows: Sequence[Row]
) -> Iterator[str]:
    means = [abs(prediction.mean_error) for prediction in results]
    tails = [abs(prediction.p99_error) for prediction in results]
    deviations = [abs(error) for error in left_out]
    yield (
        f"means of {len(means)} rows: {mean(means):.1f} % off on average, {max(means):.1f} % at "
        f"worst; with each row left out {mean(deviations):.1f} % and {max(deviations):.1f} %"
    )
    yield f"p99 of {len(tails)} rows: {mean(tails):.1f} % on average, {max(tails):.1f} % at worst"
    refused_count = sum(map(_is_refused, unfit_rows))
    yield (
        "what does not fit a card, as its table states or implies: the card's model refuses "
        f"{refused_count} of {counted(len(unfit_rows), 'model')}"
    )


def _is_refused(row: Row) -> bool:
    try:
        row.compile()
    except Unsupported:
        return True
    return False


def _counts() -> Iterator[str]:
    """What the other documents print, against the catalogue."""
    configurations = rows_of("neurio_blocks.csv")
    counts = [sum(row["part"] == part for row in configurations) for part in ("layers", "cells")]
    missing_count = sum(row["model"] not in catalogue() for row in configurations)
    yield (
        f"NeurIO: {counts[0]} configurations of layers and {counts[1]} of cells, without figures; "
        f"{missing_count} without a model of the catalogue"
    )
    zoo = rows_of("gluon_zoo.csv")
    equal_count = sum(
        catalogue()[row["model"]]["parameters_with_buffers"] == row["parameters_with_running_stats"]
        for row in zoo
    )
    yield (
        f"dlmark: {counted(len(zoo), 'network')} with their published top-1; {equal_count} have "
        "the published number of parameters"
    )
    (parameters, macs), row = _char_cnn_counts(), catalogue()["char_cnn"]
    yield (
        f"character-level CNN: {parameters:,} parameters and "
        f"{macs:,} multiply-accumulates follow from the printed "
        f"sizes; the model has {int(row['parameters']):,} and {int(row['macs']):,}"
    )


def _history() -> Iterator[Block]:
    yield Heading("Character-level CNN: optimisation history")
    steps = rows_of("char_cnn_history.csv")
    rates = [float(step["inputs_per_s"]) for step in steps]
    gains = [
        "",
        *(f"{next_rate / previous_rate:.3g}" for previous_rate, next_rate in pairwise(rates)),
    ]
    yield _table(
        ("step",),
        [
            (step["step"], f"{rate:g}", gain)
            for step, rate, gain in zip(steps, rates, gains, strict=True)
        ],
        ("inputs/s", "gain over the step before"),
    )


def _table(
    names: Sequence[str], lines: Sequence[tuple[str, ...]], figures: Sequence[str] = ()
) -> Table:
    columns = (*(Column(name, is_name=True) for name in names), *map(Column, figures))
    return Table(columns, tuple(lines))
