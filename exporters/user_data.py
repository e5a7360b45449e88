"""Arrays of the user's own, from .npz files: inputs to measure with, samples to calibrate on.

Checked against the graph's inputs before anything is built, so that what does not fit is
named; torch-free, since a plan also asks which sizes a file of inputs has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from exporters.digest import arrays_sha256, file_sha256
from exporters.inputs import NO_EXAMPLES, seeded_inputs
from exporters.regular import user_path
from exporters.types import Dimension, ExportError, TensorSpec, axes_key

Arrays = dict[str, np.ndarray]

_CALIBRATION_SAMPLES = 8
"""How many are drawn where none are given."""


def axes_of(path: Path, specs: Sequence[TensorSpec]) -> dict[str, int]:
    """The size that the file's arrays give each axis; ExportError if they do not agree."""
    return _sizes(path, _read(path, specs), specs)


def own_inputs(path: Path, specs: Sequence[TensorSpec], point: Mapping[str, int]) -> Arrays:
    """The file's arrays in the graph's dtypes; ExportError unless they fit at this point."""
    arrays = _read(path, specs)
    for spec in specs:
        wanted = spec.shape_at(point)
        if arrays[spec.name].shape != wanted:
            raise ExportError(
                f"{spec.name!r} in {path.name} has the shape {_text(arrays[spec.name].shape)}, "
                f"and the graph takes {_text(wanted)} at {axes_key(point)}",
                "give arrays of that shape, or set the axes to those of the arrays",
            )
        _refuse_outside(path, spec, arrays[spec.name])
    return arrays


def _refuse_outside(path: Path, spec: TensorSpec, array: np.ndarray) -> None:
    """An index may be negative, and then counts from the end."""
    if spec.allowed is None or not array.size:
        return
    least, largest = spec.allowed
    if array.min() < least - (largest + 1 - least) or array.max() > largest:
        wrong = array.max() if array.max() > largest else array.min()
        raise ExportError(
            f"{spec.name!r} in {path.name} has the id {wrong}, and the tables that it indexes "
            f"have {least} to {largest}",
            "give ids that they have",
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    """What an int8 graph is calibrated on; `identity` stands for it in a key."""

    identity: str
    samples: Callable[[], list[Arrays]]


def calibration(
    path: str,
    specs: Sequence[TensorSpec],
    point: Mapping[str, int],
    batch: Dimension | None,
    examples: Mapping[str, np.ndarray] = NO_EXAMPLES,
) -> Calibration:
    """The samples of the user's file, or where there is none, some drawn at `point`."""
    if path:
        given = user_path(path)
        return Calibration(digest_of(given), lambda: _samples(given, specs, batch))
    return Calibration(
        f"seeded at {axes_key(point)} {tuple(specs)} {arrays_sha256(examples)}",
        lambda: [
            seeded_inputs(specs, point, seed, examples) for seed in range(_CALIBRATION_SAMPLES)
        ],
    )


def digest_of(path: Path) -> str:
    """The sha256 of a user's file; ExportError if it cannot be read."""
    try:
        return file_sha256(path)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be read ({error.strerror})", "give the path of a file"
        ) from error


def _samples(path: Path, specs: Sequence[TensorSpec], batch: Dimension | None) -> list[Arrays]:
    """The file's arrays cut along the batch, one sample (or one fixed batch) at a time.

    A fixed batch of n takes any multiple of n samples; the remaining sizes must fit.
    """
    arrays = _read(path, specs)
    counts = set()
    for spec in specs:
        along = _batch_position(spec, batch)
        if along is None:
            raise ExportError(
                f"input {spec.name!r} has no batch to calibrate along",
                "leave the calibration file out, so that seeded data is used",
            )
        size = spec.shape[along]
        counts.add(divmod(arrays[spec.name].shape[along], size if isinstance(size, int) else 1))
    if len(counts) != 1 or any(rest or not count for count, rest in counts):
        raise ExportError(
            f"the arrays in {path.name} do not hold the same whole number of samples",
            "give every input one sample for each batch row",
        )
    ((count, _),) = counts
    pieces = {
        spec.name: np.split(arrays[spec.name], count, axis=_batch_position(spec, batch) or 0)
        for spec in specs
    }
    samples = [{name: parts[index] for name, parts in pieces.items()} for index in range(count)]
    _sizes(path, samples[0], specs)
    return samples


def _batch_position(spec: TensorSpec, batch: Dimension | None) -> int | None:
    if isinstance(batch, str):
        return spec.shape.index(batch) if batch in spec.shape else None
    return 0 if spec.shape else None


def _sizes(path: Path, arrays: Arrays, specs: Sequence[TensorSpec]) -> dict[str, int]:
    axes: dict[str, int] = {}
    for spec in specs:
        for wanted, size in zip(spec.shape, arrays[spec.name].shape, strict=True):
            known = axes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            if known != size:
                raise ExportError(
                    f"{spec.name!r} in {path.name} has the shape "
                    f"{_text(arrays[spec.name].shape)}, and the graph takes {_text(spec.shape)} "
                    f"with {wanted if isinstance(wanted, str) else 'that size'} = {known}",
                    "give arrays whose sizes agree",
                )
    return axes


def _read(path: Path, specs: Sequence[TensorSpec]) -> Arrays:
    """One array for each input, of its rank and in its dtype."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            given = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise ExportError(
            f"{path} cannot be read ({error.strerror or error})", "give an .npz of arrays"
        ) from error
    except Exception as error:
        raise ExportError(
            f"{path.name} is not an .npz file of plain arrays", "save it with numpy.savez"
        ) from error
    names = [spec.name for spec in specs]
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"its inputs are: {', '.join(names)}"
            raise ExportError(f"the graph has no input {name!r}, which {path.name} gives", remedy)
    missing = [name for name in names if name not in given]
    if missing:
        raise ExportError(f"{path.name} has no array for {', '.join(missing)}", "give every input")
    return {spec.name: _fitted(path, spec, given[spec.name]) for spec in specs}


def _fitted(path: Path, spec: TensorSpec, array: np.ndarray) -> np.ndarray:
    """In the input's dtype: floats may be rounded to it, integers must keep their values."""
    dtype = np.dtype(spec.dtype)
    if array.ndim != len(spec.shape):
        raise ExportError(
            f"{spec.name!r} in {path.name} has {array.ndim} dimensions",
            f"the graph takes {len(spec.shape)}: {_text(spec.shape)}",
        )
    converted = array.astype(dtype) if array.dtype.kind in "fiub" else None
    rounds = array.dtype.kind == dtype.kind == "f"
    if converted is None or not (rounds or np.array_equal(converted, array)):
        raise ExportError(
            f"{spec.name!r} in {path.name} is {array.dtype}, and the graph takes {dtype}",
            f"save it as {dtype}",
        )
    return converted


def _text(shape: Sequence[Dimension]) -> str:
    return f"[{', '.join(map(str, shape))}]"
