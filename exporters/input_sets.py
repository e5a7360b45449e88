"""Sets of inputs as users have them, each as an .npz: folders of tensors, and what lies beside a
model: `NAME.npz`, ONNX's `test_data_set_0`, MLflow's `input_example.json`.

What is no .npz is packed into one in the cache, by content. Arrays without names go by their
place among the graph's inputs (`user_arrays.POSITION`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy

from exporters.cache import default_root
from exporters.file_access import read_file
from exporters.plain_arrays import widen
from exporters.types import ExportError, TensorSpec
from exporters.user_arrays import POSITION, Arrays

_FOLDER = "input_sets"
DATA_SET = "test_data_set_0"
_EXAMPLE, _DESCRIPTION = "input_example.json", "MLmodel"
_TENSOR = re.compile(r"input_(\d+)\.pb")


def input_sets(path: Path) -> tuple[Path, ...]:
    """The .npz of each set that a path names: a file itself; of a folder its .npz, or the set of
    its tensors, or those of its folders. ExportError for a folder without any."""
    try:
        is_folder = path.is_dir()
    except OSError:  # a name that is too long
        is_folder = False
    if not is_folder:
        return (path,)
    if archives := [child for child in _children(path) if child.suffix == ".npz"]:
        return tuple(archives)
    if arrays := _tensors(path):
        return (_packed(arrays, path.name),)
    folders = [child for child in _children(path) if child.is_dir()]
    sets = [(folder, arrays) for folder in folders if (arrays := _tensors(folder))]
    if not sets:
        raise ExportError(
            f"--inputs: {path} is a folder without inputs",
            "give one of .npz files, of input_0.pb …, of .npy files named after the inputs, or of "
            "folders of these",
        )
    return tuple(_packed(arrays, folder.name) for folder, arrays in sets)


def read_tensor(path: Path) -> np.ndarray:
    """The array of a .pb file; ExportError for what is none."""
    import onnx  # only where there is such a file

    try:
        return widen(onnx.numpy_helper.to_array(onnx.load_tensor(path)))
    except Exception as error:
        raise ExportError(f"{path} is not a readable tensor", "restore or remove it") from error


def why_ambiguous(data_set: Path) -> str:
    """Why a folder of test data may be of another file; empty where there is only one."""
    try:
        models = [path for path in data_set.parent.iterdir() if path.suffix.lower() == ".onnx"]
    except OSError as error:
        return f"the files next to {data_set.name} are unknown ({error.strerror})"
    if len(models) > 1:
        return f"{data_set.name} belongs to one of the {len(models)} .onnx files next to it"
    return ""


def data_beside(model: Path, specs: Sequence[TensorSpec]) -> tuple[Path, str] | None:
    """The .npz of the inputs that lie beside a model, and the name of what they were; None where
    there are none. ExportError for what can't be read."""
    own, data_set = model.with_suffix(".npz"), model.parent / DATA_SET
    if own.is_file():
        return own, own.name
    if data_set.is_dir() and not why_ambiguous(data_set) and (arrays := _tensors(data_set)):
        return _packed(arrays, DATA_SET), DATA_SET
    above = model.parent.parent
    for folder in (model.parent, *([above] if (above / _DESCRIPTION).is_file() else [])):
        if (folder / _EXAMPLE).is_file():
            return _packed(_example(folder / _EXAMPLE, specs), _EXAMPLE), _EXAMPLE
    return None


def _children(folder: Path) -> list[Path]:
    """In the order of their names, numbers in that of their values."""

    def key(path: Path) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", path.name)
        return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]

    try:
        return sorted(folder.iterdir(), key=key)
    except OSError as error:
        raise ExportError(
            f"--inputs: {folder} can't be read ({error.strerror})", "give a folder of inputs"
        ) from None


def _tensors(folder: Path) -> Arrays:
    """Of a folder that is one set; {} of another."""
    children = _children(folder)
    numbered = {int(match[1]): p for p in children if (match := _TENSOR.fullmatch(p.name))}
    if numbered:
        if lacking := set(range(max(numbered))) - numbered.keys():
            raise ExportError(
                f"--inputs: {folder} has no input_{min(lacking)}.pb",
                f"give all of input_0.pb to input_{max(numbered)}.pb",
            )
        return {f"{POSITION}{place}": read_tensor(numbered[place]) for place in sorted(numbered)}
    return {path.stem: _array(path) for path in children if path.suffix == ".npy"}


def _array(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(BytesIO(read_file(path)), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ExportError(f"{path} is not a readable array", "save it with numpy.save") from error
    return array


def _example(path: Path, specs: Sequence[TensorSpec]) -> Arrays:
    """MLflow's forms: inputs by name or as one, or a table of which a column is an input, or all
    columns are the only one."""
    try:
        content = json.loads(read_file(path))
        content = content.get("dataframe_split", content.get("inputs", content))
        if isinstance(content, list):
            return {f"{POSITION}0": np.array(content)}
        if not {"columns", "data"} <= content.keys():
            return {name: np.array(values) for name, values in content.items()}
        return _of_table(content, specs)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ExportError(
            f"{path.name} is no example of inputs by name, nor a table", "give --inputs"
        ) from error


def _of_table(content: Mapping[str, Any], specs: Sequence[TensorSpec]) -> Arrays:
    names, rows = [str(name) for name in content["columns"]], content["data"]
    if len(specs) == 1 and specs[0].name not in names:
        return {specs[0].name: np.array(rows)}
    ranks = {spec.name: len(spec.shape) for spec in specs}
    columns = {name: np.array([row[place] for row in rows]) for place, name in enumerate(names)}
    return {
        name: values[:, np.newaxis] if ranks.get(name) == 2 and values.ndim == 1 else values
        for name, values in columns.items()
    }


def _packed(arrays: Arrays, name: str) -> Path:
    """A file of this name in the cache; the same arrays have the same bytes."""
    buffer = BytesIO()
    try:
        with ZipFile(buffer, "w") as archive:
            for array_name, array in arrays.items():
                with archive.open(f"{array_name}.npy", "w", force_zip64=True) as member:
                    npy.write_array(member, array, allow_pickle=False)
        content = buffer.getvalue()
        target = default_root() / _FOLDER / hashlib.sha256(content).hexdigest() / name
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.parent / f"{os.getpid()}.part"
            part.write_bytes(content)
            part.replace(target)
    except (OSError, ValueError) as error:
        raise ExportError(f"{name} can't be kept ({error})", "give an .npz of arrays") from error
    return target
