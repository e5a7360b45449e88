"""Top-1 accuracy of one session: every image once, in whole batches, nothing timed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from app.cases.accuracy import AccuracyJob, AccuracyResult
from app.cases.errors import PlanError
from app.cases.settings import settings_of
from app.workers.labelled import Labelled, open_data
from app.workers.starting import prepare, runtime_called, state_of
from exporters.types import ExportedModel, TensorSpec
from runtimes.base import Lane
from runtimes.dealing import each


def assess(job: AccuracyJob, tell: Callable[[int], None]) -> AccuracyResult:
    """Compile the subject and count its right answers; `tell` hears the images done.

    Raises GraphlapError where model and data do not fit, or the runtime refuses.
    """
    subject, model = job.subject, job.model.at(job.subject.axes)
    source = _only_input(model)
    shape = source.shape_at(model.axes)
    data = open_data(job.data, source, shape)
    runtime = runtime_called(subject.runtime)
    settings = settings_of(subject, job.cache_dir)
    settings = each(runtime, settings)[0]  # what one session computes, any other does too
    prepare(runtime, settings)
    state_of(runtime)
    runtime.refuse(model, model.axes, settings)
    runtime.load()
    with closing(runtime.compile(model, model.axes, settings)) as session:
        right = _right_answers(session.lanes[0], model, source, shape, data, tell)
    images = len(data.labels)
    return AccuracyResult(subject.case_id, job.data, right / images, images, shape[0])


def _only_input(model: ExportedModel) -> TensorSpec:
    if len(model.inputs) != 1:
        raise PlanError(
            f"{model.name} has {len(model.inputs)} inputs", "accuracy needs a model of one"
        )
    if model.batch is None:
        raise PlanError(f"{model.name} has no batch axis", "accuracy needs a model with one")
    return model.inputs[0]


def _right_answers(
    lane: Lane,
    model: ExportedModel,
    source: TensorSpec,
    shape: tuple[int, ...],
    data: Labelled,
    tell: Callable[[int], None],
) -> int:
    """How many images have their label as the largest value of the first output.

    The last batch is filled up with zeros, whose answers are not counted.
    """
    batch, count = shape[0], len(data.labels)
    right = 0
    for start in range(0, count, batch):
        stop = min(start + batch, count)
        inputs = np.zeros(shape, source.dtype)
        inputs[: stop - start] = data.images(start, stop)
        lane.bind({source.name: inputs})
        lane.poison()
        lane.run()
        scores = lane.outputs()[model.outputs[0].name].reshape(batch, -1)
        if scores.shape[1] <= data.labels.max():
            raise PlanError(
                f"{model.name} has {scores.shape[1]} classes and the labels go up to "
                f"{data.labels.max()}",
                "give data of the classes that it was trained on",
            )
        answers = scores[: stop - start].argmax(axis=1)
        right += int((answers == data.labels[start:stop]).sum())
        tell(stop)
    return right
