"""The bundle of a share: what its models became, and their files, so that every host runs these.

`bundle.json` lies beside the manifest of the share and names files below `bundle/`, by their places
here, so that a graph finds its weights. The host has these files by their content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.run_folder.files import read_json
from exporters.codec import CodecError, from_json, to_json
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.messages import ExportReply
from exporters.model_names import is_factory_file, is_hugging_face
from exporters.types import ExportedModel, Factory, GraphlapError, Precision

BUNDLE = "bundle.json"
BUNDLE_FILES = "bundle"

Exports = Mapping[tuple[str, Precision], ExportReply]


@dataclass(frozen=True, slots=True)
class Bundle:
    """`host` is what rows call a host of the machine `machine`, `attempt` the number of the share,
    `exported` the items of `Exports`, `warnings` what each of its rounds is to tell of the host or
    of earlier shares."""

    host: str
    machine: str
    attempt: int
    exported: tuple[tuple[tuple[str, Precision], ExportReply], ...]
    warnings: tuple[Diagnostic, ...] = ()


def read_bundle(folder: Path) -> Bundle | None:
    """That of a share, with its files where they lie in the folder; None for any other run.

    GraphlapError for one that can't be understood.
    """
    path = folder / BUNDLE
    if not path.is_file():
        return None
    try:
        bundle = from_json(Bundle, read_json(path))
    except (OSError, ValueError, CodecError) as error:
        raise GraphlapError(f"{path} can't be read ({error})", "start the run again") from None
    return _moved(bundle, lambda text: str(folder / text))


def packed(bundle: Bundle, send_code: bool) -> tuple[bytes, dict[str, Path]]:
    """The text of `bundle.json`, and where the files lie here that it names, by their place in the
    share; a module of the user's own files stays here unless `send_code`."""
    files: dict[str, Path] = {}

    def place(text: str) -> str:
        path = Path(text).absolute()
        name = f"{BUNDLE_FILES}{path.as_posix()}"
        files[name] = path
        return name

    return json.dumps(to_json(_moved(bundle, place, send_code))).encode(), files


def _moved(bundle: Bundle, place: Callable[[str], str], send_code: bool = True) -> Bundle:
    """With each file where `place` says."""
    exported = tuple(
        (key, replace(reply, model=reply.model and _moved_model(reply.model, place, send_code)))
        for key, reply in bundle.exported
    )
    return replace(bundle, exported=exported)


def _moved_model(
    model: ExportedModel, place: Callable[[str], str], send_code: bool
) -> ExportedModel:
    return replace(
        model,
        path=place(model.path),
        beside=tuple(map(place, model.beside)),
        references={key: place(path) for key, path in model.references.items()},
        rotation={key: tuple(map(place, paths)) for key, paths in model.rotation.items()},
        custom_ops=tuple(map(place, model.custom_ops)),
        fixed={key: replace(graph, path=place(graph.path)) for key, graph in model.fixed.items()},
        factory=_moved_factory(model.factory, place, send_code),
    )


def _moved_factory(
    factory: Factory | None, place: Callable[[str], str], send_code: bool
) -> Factory | None:
    """None for a module of which only the graph goes to other machines."""
    if factory is None or is_hugging_face(factory.target):
        return None
    target, weights = factory.target, factory.weights
    if is_factory_file(target):
        if not send_code:
            return None
        path, colon, function = target.rpartition(":")
        target = f"{place(path)}{colon}{function}"
    return replace(factory, target=target, weights=place(weights) if weights else weights)
