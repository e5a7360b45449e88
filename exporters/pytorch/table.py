"""The catalogue as a committed table, assets/catalogue.csv.

`python -m exporters.pytorch.table` writes it.

With it, all models and their sizes are listed without torch. The sizes are counted on
torch's meta device, where a module has shapes and no values: nothing is drawn or trained.
"""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import torch

from exporters import install_layout
from exporters.models import catalogue
from exporters.pytorch.counts import macs, parameter_counts
from exporters.pytorch.module import build
from exporters.types import Definition, TensorSpec, axes_key


def table() -> str:
    """One line for each definition in catalogue order, an empty cell where there is no value.

    `parameters` as torch counts them, `parameters_with_buffers` with every norm's running
    statistics, `macs` at the axes that the line names.
    """
    rows = [_row(catalogue.find(name)) for name in catalogue.names()]
    text = StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main() -> None:
    """Replace the committed table."""
    Path(str(install_layout.asset("catalogue.csv"))).write_text(table(), "utf-8")


def _row(definition: Definition) -> dict[str, str | int | None]:
    with torch.device("meta"):
        module = build(definition.factory)
        inputs = [
            torch.empty(spec.shape_at(definition.axes), dtype=getattr(torch, spec.dtype))
            for spec in definition.inputs
        ]
        parameters, with_buffers = parameter_counts(module)
        return {
            "name": definition.name,
            "suite": definition.suite,
            "family": definition.family,
            "inputs": "; ".join(map(_input, definition.inputs)),
            "axes": axes_key(definition.axes),
            "parameters": parameters,
            "parameters_with_buffers": with_buffers,
            "macs": macs(module, inputs),
            "layers": definition.layers,
            "width": definition.width,
            "source": definition.source,
        }


def _input(spec: TensorSpec) -> str:
    return f"{spec.name} {spec.dtype}[{','.join(map(str, spec.shape))}]"


if __name__ == "__main__":
    main()
