"""What a user gives along with the models: weights, data, operators, part of a graph.

The paths go to the export process; a case is known by the files' content, so that its id is
the same wherever they lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from app.cases.errors import PlanError
from exporters.digest import file_sha256
from exporters.types import Precision

_REGISTERS = b"RegisterCustomOps"
"""What ONNX Runtime calls in a library of operators."""


@dataclass(frozen=True, slots=True)
class Given:
    """Empty where nothing is given. `digests` has the sha256 of each file that is."""

    weights: str = ""
    inputs: str = ""
    calibration: str = ""
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    custom_ops: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        paths: Mapping[str, str],
        from_nodes: Sequence[str],
        to_nodes: Sequence[str],
        custom_ops: Sequence[str] = (),
    ) -> Self:
        """Paths made absolute and read once; PlanError for a file that can't be, and for a
        library that holds no operators.
        """
        named = {name: _absolute(path) for name, path in paths.items()}
        libraries = tuple(map(_absolute, custom_ops))
        digests = {name: _digest(path) for name, path in named.items()}
        if libraries:
            digests["custom_ops"] = ",".join(map(_digest_of_library, libraries))
        return cls(
            **named,
            from_nodes=tuple(from_nodes),
            to_nodes=tuple(to_nodes),
            custom_ops=libraries,
            digests=digests,
        )

    def at(self, precision: Precision) -> Given:
        """What matters at this precision: only int8 is calibrated."""
        if precision == "int8" or not self.calibration:
            return self
        kept = {name: digest for name, digest in self.digests.items() if name != "calibration"}
        return replace(self, calibration="", digests=kept)

    @property
    def identity(self) -> dict[str, Any]:
        """What a case's id depends on: contents and names, no paths; {} where nothing is given."""
        nodes = {"from_nodes": list(self.from_nodes), "to_nodes": list(self.to_nodes)}
        return {**self.digests, **{name: names for name, names in nodes.items() if names}}

    @property
    def request(self) -> dict[str, Any]:
        """The fields of an `ExportRequest` that are given."""
        values = asdict(self)
        return {f.name: values[f.name] for f in fields(self) if f.name != "digests"}

    def __str__(self) -> str:
        """`weights=net.safetensors from_nodes=a,b`: what a row says of it."""
        paths = {name: getattr(self, name) for name in self.digests if name != "custom_ops"}
        files = [f"{name}={Path(path).name}" for name, path in paths.items()]
        if self.custom_ops:
            files.append(f"custom_ops={','.join(Path(path).name for path in self.custom_ops)}")
        nodes = {"from_nodes": self.from_nodes, "to_nodes": self.to_nodes}
        return " ".join(files + [f"{name}={','.join(n)}" for name, n in nodes.items() if n])


NOTHING = Given()


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


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
        return file_sha256(Path(path))
    except OSError as error:
        raise PlanError(f"{path} can't be read ({error.strerror})", "give a file") from None
