"""Which labelled data a plan has for a model, and whether they can be used, no image decoded."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from app.cases.accuracy import BATCH
from app.cases.errors import PlanError
from app.cases.labelled import image_files, label_count, needs_pillow, nothing_at
from exporters.models import catalogue
from exporters.types import GraphlapError


def data_for(model: str, given: str) -> str:
    """What the plan gives, else the definition's own, else ''."""
    if given:
        return given
    with suppress(GraphlapError):
        return catalogue.find(model).labelled
    return ""


def refuse_unusable(source: str) -> None:
    """PlanError for a path that holds no labelled images, or fewer than a batch of them."""
    path = Path(source)
    if path.is_dir():
        if find_spec("PIL") is None:
            raise needs_pillow()
        count = len(image_files(path)[0])
    elif path.is_file():
        count = label_count(path)
    else:
        raise nothing_at(source)
    if count < BATCH:
        raise PlanError(
            f"{source} holds {count} images, and accuracy is measured in batches of {BATCH}",
            f"give at least {BATCH}",
        )
