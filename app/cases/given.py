"""What a user gives along with the models: weights, inputs, calibration data, part of a graph.

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


@dataclass(frozen=True, slots=True)
class Given:
    """Empty where nothing is given. `digests` has the sha256 of each file that is."""

    weights: str = ""
    inputs: str = ""
    calibration: str = ""
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, paths: Mapping[str, str], from_nodes: Sequence[str], to_nodes: Sequence[str]
    ) -> Self:
        """Paths made absolute and read once; PlanError for a file that can't be."""
        named = {name: str(Path(path).expanduser().absolute()) for name, path in paths.items()}
        digests = {name: _digest(path) for name, path in named.items()}
        return cls(**named, from_nodes=tuple(from_nodes), to_nodes=tuple(to_nodes), digests=digests)

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
    def files(self) -> dict[str, str]:
        """The path of each file that is given, by the name of its digest."""
        return {name: getattr(self, name) for name in self.digests}

    @property
    def request(self) -> dict[str, Any]:
        """The fields of an `ExportRequest` that are given."""
        values = asdict(self)
        return {f.name: values[f.name] for f in fields(self) if f.name != "digests"}

    def __str__(self) -> str:
        """`weights=net.safetensors from_nodes=a,b`: what a row says of it."""
        files = [f"{name}={Path(getattr(self, name)).name}" for name in self.digests]
        nodes = {"from_nodes": self.from_nodes, "to_nodes": self.to_nodes}
        return " ".join(files + [f"{name}={','.join(n)}" for name, n in nodes.items() if n])


NOTHING = Given()


def _digest(path: str) -> str:
    try:
        return file_sha256(Path(path))
    except OSError as error:
        raise PlanError(f"{path} can't be read ({error.strerror})", "give a file") from None
