"""The optimisation history of the CNN next to the ablation of a search; the study as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from app.capabilities.tuning.answer import Gain, Rung, TuneResults, tune_results, value_text
from app.comparison.published_figures import history_steps
from app.formatting import text
from app.present.document import Block, Column, Heading, Paragraph, Points, Table
from app.studies.char_cnn import operators, steps
from app.studies.char_cnn.steps import published
from app.studies.study import Found, Study, Whole


def tables(results: Found) -> Iterator[Block]:
    """One table of both, then what to think of the search."""
    yield Heading("The history and the search")
    yield Paragraph(
        "Published: other machines and code, each step one more change, from one node to several "
        "GPUs. Measured: this machine, each step one more choice of the search, all measured again "
        "in turn. A published and a measured step in one line do not correspond."
    )
    answer = tune_results(results.run)
    if answer is None or not any(tune_answer.rungs for _, tune_answer in answer.searches):
        yield Paragraph("The search has no final rounds: there is no ladder yet.")
        return
    yield _table(answer)
    yield Points(
        tuple(sentence for _, tune_answer in answer.searches for sentence in tune_answer.sentences)
    )


def _table(answer: TuneResults) -> Table:
    (_, tune_answer), *_ = answer.searches
    steps = history_steps()
    rows = []
    for number, (step, rung) in enumerate(zip_longest(steps, tune_answer.rungs)):
        published_cells: tuple[str, ...] = ("", "", "")
        if step is not None:
            published_cells = published(step, steps[number - 1] if number else None)
        measured_cells = ("", "", "", "", "") if rung is None else _measured_cells(rung, answer)
        rows.append((*published_cells, *measured_cells))
    columns = (
        Column("step", "published", is_name=True),
        Column("inputs/s", "published"),
        Column("times", "published"),
        Column("step", "measured", is_name=True),
        Column("inputs/s", "measured"),
        Column("times", "measured"),
        Column("than the default", "measured"),
        Column("error", "measured"),
    )
    return Table(columns, tuple(rows))


def _measured_cells(rung: Rung, answer: TuneResults) -> tuple[str, ...]:
    error = text.NOT_MEASURED if rung.error is None else text.share(rung.error)
    return (
        rung.label,
        value_text(rung.value, answer.goal),
        _gain(rung.gain),
        _gain(rung.total),
        error,
    )


def _gain(gain: Gain | None) -> str:
    return "" if gain is None else str(gain)


STUDY = Study(
    name="char-cnn/ladder",
    title="A search instead of steps",
    repeats=(
        "The result of a search over runtimes, precisions, batch sizes, threads and options, "
        "within an error of 2 % of the largest output."
    ),
    tables=tables,
    one_host=True,
)


WHOLE = Whole(
    name="char-cnn",
    title="The character-level CNN, optimised",
    repeats=(
        "A history of seven steps took one network from 2.12 to 727.2 inputs a second: offloading, "
        "batches, kernels for a GPU, fused operators, several GPUs. This study reproduces the "
        "steps, by choosing runtimes instead of writing code, then the author's checklist of "
        "operators and fusions, and the whole path, as the result of a search. The network has "
        "random weights, so errors are of outputs, not of answers."
    ),
    parts=(steps.STUDY, operators.STUDY, STUDY),
    shares=(0.3, 0.2, 0.5),
)
