"""What the models of a run were fed, as files of its folder: `.npz` arrays by input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO

import numpy as np

from exporters.types import ExportedModel, load_reference

INPUTS = "inputs"
_UNSAFE = re.compile(r"[^\w.,=-]")


def inputs_to_keep(model: ExportedModel) -> Iterator[tuple[str, bytes]]:
    """A file of the run folder for each point of a model, and for each set that is fed in turn.

    Its name has the model's, the beginning of its sha256, the precision and the sizes; further
    sets are numbered from 2.
    """
    for key, reference in model.references.items():
        sets = (reference, *model.rotation.get(key, ()))
        for number, file in enumerate(sets, 1):
            named = f"{model.name}-{model.sha256[:8]}-{model.precision}-{key}"
            place = f".{number}" if number > 1 else ""
            data = BytesIO()
            np.savez(data, **load_reference(file).inputs)  # type: ignore[arg-type]
            yield f"{INPUTS}/{_UNSAFE.sub('_', named)}{place}.npz", data.getvalue()
