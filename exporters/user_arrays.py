"""Arrays of users in .npz files: inputs to measure with, samples to calibrate on."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from exporters.file_access import arrays_sha256, file_sha256, open_file, user_path
from exporters.inputs import NO_EXAMPLES, seeded_inputs
from exporters.messages import ExportRequest
from exporters.types import TEXT, Dimension, ExportError, TensorSpec, axes_key, nearest

_SUFFIX = ".npy"
POSITION = "#"
"""Before the place of an array that goes by no name."""
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_LONGEST_HEADER = 10_000
"""What numpy reads at most; beyond is no array of numbers."""


@dataclass(frozen=True, slots=True)
class Header:
    """What an array's header says of it."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


def npz_headers(path: Path) -> dict[str, Header]:
    """By name, what each array is; OSError, or ValueError for what is no .npz of plain arrays."""
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            return {_array_name(name): _header(archive, name) for name in archive.namelist()}
    except (OSError, ValueError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged or locked archive raises
        raise ValueError(str(error)) from error


def npz_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The arrays of these names; OSError, ValueError likewise, MemoryError for too large ones."""
    try:
        with open_file(path) as file, np.load(file, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in names}
    except (OSError, ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(str(error)) from error


def _array_name(member: str) -> str:
    if not member.endswith(_SUFFIX):
        raise ValueError(f"it holds {member!r}, which is no array")
    return member.removesuffix(_SUFFIX)


def _header(archive: zipfile.ZipFile, member: str) -> Header:
    with archive.open(member) as file:
        version = npy.read_magic(file)
        count = _LENGTH_BYTES.get(version, 0)
        prefix = file.read(count)
        length = int.from_bytes(prefix, "little")
        if not count or length > _LONGEST_HEADER:
            raise ValueError(f"the header of {member!r} is not one of numpy's")
        content = BytesIO(prefix + file.read(length))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(content)
    if dtype.hasobject or any(not isinstance(size, int) or size < 0 for size in shape):
        raise ValueError(f"{member!r} is no array of numbers")
    return Header(shape, dtype)


Arrays = dict[str, np.ndarray]

_CALIBRATION_SAMPLES = 8
"""How many are drawn where none are given."""


def input_files(request: ExportRequest) -> list[Path]:
    """The user's own sets of inputs, in the order in which they are fed."""
    return [user_path(path) for path in (request.inputs, *request.more_inputs) if path]


def axes_of(path: Path, specs: Sequence[TensorSpec]) -> dict[str, int]:
    """The size that the file's arrays give each axis; ExportError if they do not agree."""
    return _sizes(path, _headers(path, specs), specs)


def own_inputs(path: Path, specs: Sequence[TensorSpec], point: Mapping[str, int]) -> Arrays:
    """The file's arrays in the graph's dtypes; ExportError unless they fit at this point."""
    headers = _headers(path, specs)
    for spec in specs:
        shape = spec.shape_at(point)
        if headers[spec.name].shape != shape:
            raise ExportError(
                f"{spec.name!r} in {path.name} has the shape {_text(headers[spec.name].shape)}, "
                f"and the graph takes {_text(shape)} at {axes_key(point)}",
                "give arrays of that shape, or set the axes to the sizes of the arrays",
            )
    arrays = _read(path, specs)
    for spec in specs:
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
        file_path = user_path(path)
        return Calibration(digest_of(file_path), lambda: _samples(file_path, specs, batch))
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
    headers = _headers(path, specs)
    counts = set()
    for spec in specs:
        batch_axis = _batch_position(spec, batch)
        if batch_axis is None:
            raise ExportError(
                f"input {spec.name!r} has no batch to calibrate along",
                "leave the calibration file out, so that seeded data is used",
            )
        size = spec.shape[batch_axis]
        counts.add(
            divmod(headers[spec.name].shape[batch_axis], size if isinstance(size, int) else 1)
        )
    if len(counts) != 1 or any(rest or not count for count, rest in counts):
        raise ExportError(
            f"the arrays in {path.name} do not hold the same number of whole samples",
            "give every input one sample for each batch row",
        )
    ((count, _),) = counts
    arrays = _read(path, specs)
    pieces = {
        spec.name: np.split(arrays[spec.name], count, axis=_batch_position(spec, batch) or 0)
        for spec in specs
    }
    samples = [{name: parts[index] for name, parts in pieces.items()} for index in range(count)]
    _sizes(path, {n: Header(a.shape, a.dtype) for n, a in samples[0].items()}, specs)
    return samples


def _batch_position(spec: TensorSpec, batch: Dimension | None) -> int | None:
    if isinstance(batch, str):
        return spec.shape.index(batch) if batch in spec.shape else None
    return 0 if spec.shape else None


def _sizes(
    path: Path, headers: Mapping[str, Header], specs: Sequence[TensorSpec]
) -> dict[str, int]:
    axes: dict[str, int] = {}
    for spec in specs:
        for dim, size in zip(spec.shape, headers[spec.name].shape, strict=True):
            known_size = axes.setdefault(dim, size) if isinstance(dim, str) else dim
            if known_size != size:
                raise ExportError(
                    f"{spec.name!r} in {path.name} has the shape "
                    f"{_text(headers[spec.name].shape)}, and the graph takes {_text(spec.shape)} "
                    f"with {dim if isinstance(dim, str) else 'that size'} = {known_size}",
                    "give arrays whose sizes agree",
                )
    return axes


@contextmanager
def _npz(path: Path) -> Iterator[None]:
    """What reading the file raises inside, as an ExportError."""
    try:
        yield
    except OSError as error:
        raise ExportError(
            f"{path} cannot be read ({error.strerror or error})", "give an .npz of arrays"
        ) from error
    except ValueError as error:
        raise ExportError(
            f"{path.name} is not an .npz file of plain arrays", "save it with numpy.savez"
        ) from error


def _headers(path: Path, specs: Sequence[TensorSpec]) -> dict[str, Header]:
    """What the array of each input is, of its rank; no array is read."""
    names = [spec.name for spec in specs]
    with _npz(path):
        headers = npz_headers(path)
    if headers and all(name.startswith(POSITION) for name in headers):
        if len(headers) != len(names):
            raise ExportError(
                f"{path.name} has {len(headers)} arrays, and the graph has {len(names)} inputs",
                f"give one for each of {', '.join(names)}",
            )
        headers = {name: headers[f"{POSITION}{place}"] for place, name in enumerate(names)}
    for name in headers:
        if name not in names:
            remedy = nearest(name, names, f"its inputs are: {', '.join(names)}")
            raise ExportError(f"the graph has no input {name!r}, which {path.name} gives", remedy)
    missing = [name for name in names if name not in headers]
    if missing:
        raise ExportError(f"{path.name} has no array for {', '.join(missing)}", "give every input")
    for spec in specs:
        if headers[spec.name].dtype.kind not in ("U" if spec.dtype == TEXT else "fiub"):
            raise _other_type(path, spec, headers[spec.name].dtype)
        if (rank := len(headers[spec.name].shape)) != len(spec.shape):
            raise ExportError(
                f"{spec.name!r} in {path.name} has {rank} dimensions",
                f"the graph takes {len(spec.shape)}: {_text(spec.shape)}",
            )
    return headers


def _read(path: Path, specs: Sequence[TensorSpec]) -> Arrays:
    """One array for each input, in its dtype; their headers are known to fit."""
    with _npz(path):
        is_named = not all(name.startswith(POSITION) for name in npz_headers(path))
        keys = [s.name if is_named else f"{POSITION}{place}" for place, s in enumerate(specs)]
        arrays = npz_arrays(path, keys)
    return {s.name: _fit_type(path, s, arrays[key]) for s, key in zip(specs, keys, strict=True)}


def _fit_type(path: Path, spec: TensorSpec, array: np.ndarray) -> np.ndarray:
    """In the input's dtype: floats may be rounded to it, integers must keep their values."""
    if spec.dtype == TEXT:
        return array
    dtype = np.dtype(spec.dtype)
    converted = array.astype(dtype)
    rounds = array.dtype.kind == dtype.kind == "f"
    if not (rounds or np.array_equal(converted, array)):
        raise _other_type(path, spec, array.dtype)
    return converted


def _other_type(path: Path, spec: TensorSpec, dtype: np.dtype) -> ExportError:
    graph_dtype = np.dtype(spec.dtype)
    return ExportError(
        f"{spec.name!r} in {path.name} is {dtype}, and the graph takes {graph_dtype}",
        f"save it as {graph_dtype}",
    )


def _text(shape: Sequence[Dimension]) -> str:
    return f"[{', '.join(map(str, shape))}]"
