"""What a job brings to another machine: itself in words that hold there, and its files.

A graph comes with the weights that lie beside it, its references at the sizes that are run, the
user's operators; a module's own file comes only where its user lets code be sent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from app.carriers.contract import ENGINES, FILE, SAMPLES, HostFile
from app.cases.round import MeasureJob
from exporters.digest import file_sha256
from exporters.factory_file import is_factory_file, is_hugging_face
from exporters.types import ExportedModel, Factory, axes_key
from runtimes.options import Settings

_SHA256 = re.compile(r"[0-9a-f]{64}")


def brought(job: MeasureJob, send_code: bool) -> tuple[MeasureJob, tuple[HostFile, ...]]:
    """The job as the host is told it, and the files that it names; OSError for one that is gone."""
    files = _Files()
    points = [*job.shapes, *(one.axes for one in job.batches), job.axes]
    keys = {axes_key(axes) for axes in points}
    beside = job.neighbour
    if beside is not None:
        key = {axes_key(beside.model.axes)}
        model = _model(beside.model, key, files, send_code)
        beside = replace(beside, model=model, settings=_settings(beside.settings))
    there = replace(
        job,
        model=_model(job.model, keys, files, send_code),
        settings=_settings(job.settings),
        samples_path=SAMPLES,
        batches=tuple(_model(one, keys, files, send_code) for one in job.batches),
        neighbour=beside,
    )
    return there, files.all


def brought_model(
    model: ExportedModel, axes: Mapping[str, int], send_code: bool
) -> tuple[ExportedModel, tuple[HostFile, ...]]:
    """A model with its reference at one point, and its files; OSError likewise."""
    files = _Files()
    there = _model(model, {axes_key(model.at(axes).axes)}, files, send_code)
    return there, files.all


class _Files:
    """Each once, by content; two of one name and another content get names of their own."""

    def __init__(self) -> None:
        self._known: dict[str, HostFile] = {}

    @property
    def all(self) -> tuple[HostFile, ...]:
        return tuple(self._known.values())

    def of(self, text: str) -> str:
        """How the job names the file at this path."""
        path = Path(text)
        # What the cache keeps is called by its content, and was read whole when it was taken.
        sha256 = path.stem if _SHA256.fullmatch(path.stem) else file_sha256(path)
        if sha256 not in self._known:
            taken = any(file.name == path.name for file in self._known.values())
            name = f"{sha256[:12]}-{path.name}" if taken else path.name
            self._known[sha256] = HostFile(sha256, path.stat().st_size, name, path)
        return f"{FILE}{sha256}/{self._known[sha256].name}"


def _model(
    model: ExportedModel, keys: Collection[str], files: _Files, send_code: bool
) -> ExportedModel:
    return replace(
        model,
        path=files.of(model.path),
        beside=tuple(map(files.of, model.beside)),
        references={key: files.of(path) for key, path in model.references.items() if key in keys},
        rotation={
            key: tuple(map(files.of, paths)) for key, paths in model.rotation.items() if key in keys
        },
        custom_ops=tuple(map(files.of, model.custom_ops)),
        fixed={},
        factory=_factory(model.factory, files, send_code),
    )


def _factory(factory: Factory | None, files: _Files, send_code: bool) -> Factory | None:
    """None for a module of the user's own files that stay here: its graph is all that goes."""
    if factory is None:
        return None
    target = factory.target
    if is_hugging_face(target):
        return None
    if is_factory_file(target):
        path, colon, function = target.rpartition(":")
        if not send_code:
            return None
        target = f"{files.of(path)}{colon}{function}"
    weights = factory.weights
    return replace(factory, target=target, weights=files.of(weights) if weights else weights)


def _settings(settings: Settings) -> Settings:
    return replace(settings, cache_dir=ENGINES if settings.cache_dir else "")
