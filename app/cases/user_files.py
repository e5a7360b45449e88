"""What a user gives along with the models: weights, data, operators, part of a graph.

The paths go to the export process; a case is known by the files' content, so that its id is
the same wherever they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from app.cases.errors import PlanError
from app.cases.units import plain
from exporters.file_access import file_sha256, user_path
from exporters.types import Precision
from exporters.user_arrays import npz_arrays, npz_headers

_REGISTERS = b"RegisterCustomOps"
"""What ONNX Runtime calls in a library of operators."""


@dataclass(frozen=True, slots=True)
class UserFiles:
    """Empty where nothing is given. `digests` has the sha256 of each file that is.

    `more_inputs` are further sets beside `inputs`, fed in turn with it; their digests go
    by `inputs_2` and so on. `rotate_inputs` draws several. `input_range` bounds what is drawn,
    `states` maps outputs to the inputs that they become.
    """

    weights: str = ""
    inputs: str = ""
    calibration: str = ""
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    more_inputs: tuple[str, ...] = ()
    rotate_inputs: bool = False
    input_range: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    custom_ops: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_paths(
        cls,
        paths: Mapping[str, str],
        more_inputs: Sequence[str] = (),
        custom_ops: Sequence[str] = (),
        **settings: Any,
    ) -> Self:
        """Paths made absolute and read once; PlanError for a file that can't be, and for a
        library that holds no operators.

        `settings` are the fields that are no files.
        """
        paths_by_field: dict[str, Any] = {name: _absolute(path) for name, path in paths.items()}
        further_inputs = tuple(map(_absolute, more_inputs))
        libraries = tuple(map(_absolute, custom_ops))
        digests = {name: _digest(path) for name, path in paths_by_field.items()}
        digests |= {f"inputs_{n}": _digest(path) for n, path in enumerate(further_inputs, 2)}
        if libraries:
            digests["custom_ops"] = ",".join(map(_digest_of_library, libraries))
        return cls(
            **paths_by_field,
            more_inputs=further_inputs,
            custom_ops=libraries,
            digests=digests,
            **settings,
        )

    def at(self, precision: Precision) -> UserFiles:
        """What matters at this precision: only int8 is calibrated."""
        if precision == "int8" or not self.calibration:
            return self
        digests = {name: digest for name, digest in self.digests.items() if name != "calibration"}
        return replace(self, calibration="", digests=digests)

    @property
    def identity(self) -> dict[str, Any]:
        """What a case's id depends on: contents and names, no paths; {} where nothing is given."""
        if self is NO_USER_FILES:
            return {}
        settings: dict[str, Any] = {
            "from_nodes": list(self.from_nodes),
            "to_nodes": list(self.to_nodes),
            "rotate_inputs": self.rotate_inputs,
            "input_range": {name: list(ends) for name, ends in self.input_range.items()},
            "states": dict(self.states),
        }
        return {**self.digests, **{name: value for name, value in settings.items() if value}}

    @property
    def files(self) -> tuple[str, ...]:
        """The path of each file that is given."""
        paths = (getattr(self, name) for name in _FILES)
        return (*(path for path in paths if path), *self.more_inputs, *self.custom_ops)

    def moved(self, place: Callable[[str], str]) -> UserFiles:
        """The same contents, each file where `place` says that it is."""
        paths: dict[str, Any] = {n: place(path) for n in _FILES if (path := getattr(self, n))}
        return replace(
            self,
            more_inputs=tuple(map(place, self.more_inputs)),
            custom_ops=tuple(map(place, self.custom_ops)),
            **paths,
        )

    @property
    def request(self) -> dict[str, Any]:
        """The fields of an `ExportRequest` that are given."""
        values = asdict(self)
        return {f.name: values[f.name] for f in fields(self) if f.name != "digests"}

    def __str__(self) -> str:
        """`weights=net.safetensors from_nodes=a,b`: what a row says of it."""
        if self is NO_USER_FILES:
            return ""
        files = {name: getattr(self, name) for name in _FILES}
        texts = {name: Path(path).name for name, path in files.items() if path}
        if self.more_inputs:
            texts["inputs"] = ",".join(Path(p).name for p in (self.inputs, *self.more_inputs))
        lists = {
            "from_nodes": self.from_nodes,
            "to_nodes": self.to_nodes,
            "input_range": [
                f"{n}:{plain(low)}:{plain(high)}" for n, (low, high) in self.input_range.items()
            ],
            "states": [f"{output}:{input_name}" for output, input_name in self.states.items()],
            "custom_ops": [Path(path).name for path in self.custom_ops],
        }
        texts |= {name: ",".join(words) for name, words in lists.items() if words}
        return " ".join(
            [*(f"{name}={text}" for name, text in texts.items()), *["rotated"] * self.rotate_inputs]
        )


_FILES = ("weights", "inputs", "calibration")
NO_USER_FILES = UserFiles()


def _absolute(path: str) -> str:
    return str(user_path(path).absolute())


def _digest_of_library(path: str) -> str:
    digest = _digest(path)
    if _REGISTERS not in Path(path).read_bytes():
        raise PlanError(
            f"{path} is no library of operators for ONNX Runtime: nothing in it is called "
            f"{_REGISTERS.decode()}",
            "give the shared library that your operators are built into",
        )
    return digest


def _digest(path: str) -> str:
    try:
        if Path(path).exists() and not Path(path).is_file():  # a device has no end
            raise PlanError(f"{path} is no file", "give a file")
        return file_sha256(Path(path))
    except OSError as error:
        raise PlanError(f"{path} can't be read ({error.strerror})", "give a file") from None


_SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".bmp", ".webp"})
_FORM = "give a folder with one folder of images for each class, or an .npz of images and labels"


def image_files(folder: Path) -> tuple[list[Path], list[int]]:
    """The images of all classes and their labels; PlanError if there are no classes."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    if not classes:
        raise PlanError(f"{folder} holds no folders, so its images have no classes", _FORM)
    pairs = [
        (path, label)
        for label, class_folder in enumerate(classes)
        for path in sorted(class_folder.iterdir())
        if path.suffix.lower() in _SUFFIXES
    ]
    return [path for path, _ in pairs], [label for _, label in pairs]


def npz_array(path: Path, name: str) -> np.ndarray:
    """One array of an .npz; PlanError if it is none or lacks it."""
    with _npz(path, name):
        return npz_arrays(path, [name])[name]


def label_count(path: Path) -> int:
    """How many labels an .npz has, by their header; PlanError if it lacks them or the images."""
    with _npz(path, "labels"):
        headers = npz_headers(path)
        if missing := {"images", "labels"} - headers.keys():
            raise ValueError(f"it lacks {' and '.join(sorted(missing))}")
        return headers["labels"].shape[0] if headers["labels"].shape else 0


@contextmanager
def _npz(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise PlanError(f"{path} holds no array {name!r} ({error})", _FORM) from None


def nothing_at(source: str) -> PlanError:
    return PlanError(f"there is no accuracy data at {source!r}", _FORM)


def needs_pillow() -> PlanError:
    return PlanError(
        "reading images needs Pillow, which is not installed", "pip install 'graphlap[accuracy]'"
    )
