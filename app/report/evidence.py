"""The figures of a run as blocks: those of all cases, then those of each model, folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from app.present.document import Block, Details, Heading
from app.present.figure import Figure
from app.report import card, hosts, reach
from app.report.figures import FIGURES, ratios
from app.report.operators import of_operators
from app.report.schedule import of_cards
from app.report.shown import Shown, shown
from app.results.hosts_together import HostsTogether
from app.results.labels import model_labels
from app.results.measured import Measured
from app.results.run import Run


def evidence(
    run: Run, measured: Sequence[Measured], together: Sequence[HostsTogether]
) -> Iterator[Block]:
    """Nothing where there is nothing to draw. Samples are read model by model."""
    cases = shown(run, measured)
    overview = (
        ratios(cases),
        reach.accuracy(cases),
        reach.largest_batch(run, measured),
        hosts.hosts(together),
        card.fit(cases),
    )
    names = model_labels(str(one.row["model"]) for one in cases)
    of_all = [figure for figure in overview if figure is not None]
    if of_all or names:
        yield Heading("Evidence")
    yield from of_all
    yield from of_cards(cases)
    for model, label in names.items():
        group = [one for one in cases if one.row["model"] == model]
        latency, *others = _of_model(group)
        if len(names) == 1:
            yield latency
            yield Details(f"More figures of {label}", tuple(others), 3)
        else:
            yield Details(f"Figures of {label}", (latency, *others), 3)
        for one in group:
            one.forget()


def _of_model(group: Sequence[Shown]) -> list[Figure]:
    """The latencies, then what else is known of the cases of one model."""
    made = (make(group) for make in (*FIGURES, *reach.OF_A_MODEL))
    return [figure for figure in chain(made, of_operators(group)) if figure is not None]
