"""What the models of a run were fed, as files of its folder: `.npz` arrays by input."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

from exporters.types import INPUT, ExportedModel

INPUTS = "inputs"
_UNSAFE = re.compile(r"[^\w.,=-]")


def inputs_to_keep(model: ExportedModel) -> Iterator[tuple[str, Path]]:
    """A file of the run folder for each point of a model, and for each set that is fed in turn,
    with the reference that holds these inputs.

    Its name has the model's, the beginning of its sha256, the precision and the sizes; further
    sets are numbered from 2.
    """
    for key, reference in model.references.items():
        sets = (reference, *model.rotation.get(key, ()))
        for number, file in enumerate(sets, 1):
            named = f"{model.name}-{model.sha256[:8]}-{model.precision}-{key}"
            place = f".{number}" if number > 1 else ""
            yield f"{INPUTS}/{_UNSAFE.sub('_', named)}{place}.npz", Path(file)


def write_inputs(reference: Path, target: BinaryIO) -> None:
    """Copy the inputs of a stored reference, a part at a time: they may be larger than memory."""
    with ZipFile(reference) as stored, ZipFile(target, "w") as kept:
        for name in stored.namelist():
            if name.startswith(INPUT):
                with (
                    stored.open(name) as source,
                    kept.open(name.removeprefix(INPUT), "w", force_zip64=True) as member,
                ):
                    shutil.copyfileobj(source, member)
