"""Further inputs to feed a model from run to run, so that no cache is flattered by one of them.

They are fed and never compared: the first set, the reference's, vouches for the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from exporters.cache import Store
from exporters.digest import arrays_sha256
from exporters.inputs import Arrays, cast_inputs, cast_specs, seeded_inputs
from exporters.made import Made
from exporters.points import Point
from exporters.source import Subject
from exporters.steps import done
from exporters.types import (
    NotBenchmarkable,
    Precision,
    Reference,
    axes_key,
    save_reference,
)
from exporters.user_data import own_inputs

INPUTS = "inputs"
DRAWN_SETS = 8
"""So many sets are rotated where none are given, the reference's among them."""


def rotation_of(
    store: Store,
    subject: Subject,
    points: Sequence[Point],
    precision: Precision,
    files: Sequence[Path],
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """For each point by `axes_key` the files of all sets but the first.

    `files` are the user's own sets, the first included; without any they are drawn from the
    seeds that follow. NotBenchmarkable if there is only one set.
    """
    drawn = [s.name for s in subject.inputs if s.name not in subject.examples]
    if len(files) == 1 or not (files or drawn):
        raise NotBenchmarkable(
            f"{subject.called} has one set of inputs, and --rotate-inputs needs several",
            "give them as --inputs a.npz,b.npz",
        )
    return {
        axes_key(point): tuple(
            _kept(store, subject, precision, arrays)
            for arrays in _sets(subject, point, files, seed)
        )
        for point in points
    }


def _sets(subject: Subject, point: Point, files: Sequence[Path], seed: int) -> list[Arrays]:
    if files:
        return [own_inputs(file, subject.inputs, point) for file in files[1:]]
    seeds = range(seed + 1, seed + DRAWN_SETS)
    return [seeded_inputs(subject.inputs, point, one, subject.examples) for one in seeds]


def _kept(store: Store, subject: Subject, precision: Precision, arrays: Arrays) -> str:
    fed = cast_inputs(arrays, cast_specs(subject.inputs, precision), precision)
    about: Mapping[str, str] = {"inputs of a rotation": arrays_sha256(fed)}
    return str(done(store, _written, fed, about=about, packages=("numpy",)).entry.files[INPUTS])


def _written(folder: Path, arrays: Arrays) -> Made:
    path = folder / "inputs.npz"
    save_reference(str(path), Reference(arrays, {}))
    return Made({INPUTS: path})
