"""Whether the labelled data of a plan can be used at all, told without decoding an image."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from app.cases.accuracy import BATCH
from app.cases.errors import PlanError
from app.cases.labelled import image_files, needs_pillow, nothing_at, npz_array


def refuse_unusable(source: str) -> None:
    """PlanError for a path that holds no labelled images, or fewer than a batch of them."""
    path = Path(source)
    if path.is_dir():
        if find_spec("PIL") is None:
            raise needs_pillow()
        count = len(image_files(path)[0])
    elif path.is_file():
        count = len(npz_array(path, "labels"))
    else:
        raise nothing_at(source)
    if count < BATCH:
        raise PlanError(
            f"{source} holds {count} images, and accuracy is measured in batches of {BATCH}",
            f"give at least {BATCH}",
        )
