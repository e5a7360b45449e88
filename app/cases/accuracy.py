"""What an accuracy process is told, and what it tells back: JSON lines on its pipes.

The parent writes one `AccuracyJob` line; the child writes `progress` events with the images
done, and a `result` event with an `AccuracyResult` last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.condition import NO_CONDITION
from app.cases.scenario import Scenario
from exporters.types import ExportedModel
from runtimes.options import SESSIONS

BATCH = 64
"""Accuracy is measured at this batch where the graph's batch is open."""


def subject_of(case: Case, model: ExportedModel) -> Case:
    """The case with all that can't change an output at its default: one accuracy for each.

    What is left is the model in its precision, the runtime with its options but for how many
    sessions run at once, and the sizes of the axes beside the batch, which is `BATCH`.
    """
    axes = dict(case.axes)
    if isinstance(model.batch, str):
        axes[model.batch] = BATCH
    options = {name: value for name, value in case.options.items() if name != SESSIONS.name}
    return replace(
        case,
        axes=axes,
        threads=0,
        options=options,
        scenario=Scenario(),
        wait_policy="spin",
        batcher=None,
        condition=NO_CONDITION,
        suite="",
    )


@dataclass(frozen=True, slots=True)
class AccuracyJob:
    """One subject on one set of labelled data; `data` is as `app.workers.labelled` takes it.

    `cache_dir` is where engines are kept."""

    subject: Case
    model: ExportedModel
    data: str
    cache_dir: str = ""


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """`top1` is the share of `images` whose largest output is their label.

    `subject` is the subject's case id. `top1` is None where it could not be measured, and
    `reason` is then one sentence. `transient`: circumstances made it fail, so that a resume
    measures it again.
    """

    subject: str
    data: str
    top1: float | None = None
    images: int = 0
    batch_size: int = 0
    reason: str = ""
    transient: bool = False
