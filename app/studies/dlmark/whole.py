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
        "repeated here with the same architectures. Their weights are drawn, since speed does not "
        "ask for trained ones, and accuracy is measured of networks that are trained; of the zoo "
        "it is published, and stands in a column that says so."
    ),
    parts=(throughput.STUDY, largest.STUDY, devices.STUDY, accuracy.STUDY),
    shares=(0.4, 0.2, 0.2, 0.2),
)
