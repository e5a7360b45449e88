"""dlmark's study of convolutional networks as a whole."""

from __future__ import annotations

from app.studies.dlmark import accuracy, devices, largest, throughput
from app.studies.study import Whole

WHOLE = Whole(
    name="dlmark",
    title="dlmark's convolutional networks",
    repeats=(
        "The study of MXNet's Gluon model zoo has four figures: throughput by batch size, the "
        "largest batch and memory, throughput by device, and accuracy against throughput. Each is "
        "reproduced here with the same architectures. Their weights are random, which does not "
        "change the speed. Accuracy is measured on networks that are trained; the zoo's accuracy "
        "is published, in a column of that name."
    ),
    parts=(throughput.STUDY, largest.STUDY, devices.STUDY, accuracy.STUDY),
    shares=(0.4, 0.2, 0.2, 0.2),
)
