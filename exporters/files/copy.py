"""The step that keeps a user's graph: checked, and copied with the weights of its other files.

The file's own bytes are kept. Only where it cannot be kept so, because a part was cut out, its
weights lie in other files, an open dimension has no name or a node stood before one that it
reads, is it written anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from onnx import ModelProto

from exporters.digest import file_sha256
from exporters.files.engine import accepted, is_engine_format
from exporters.files.external import external_tensors
from exporters.files.face import OnnxFile
from exporters.made import Made
from exporters.types import ONNX_ENDING, ORT_ENDING

MODEL, OBJECTION = "model", "objection"


def copied(
    folder: Path,
    face: OnnxFile,
    proto: ModelProto,
    is_part: bool,
    is_put_in_order: bool,
    custom_ops: Sequence[str],
) -> Made:
    """The graph and its weights; ExportError if neither ONNX's checker nor ONNX Runtime takes it.

    `proto` is the graph of `face`, and says where the store keeps its weights afterwards.
    `is_put_in_order` says that its nodes were not. The fact `OBJECTION` is what the checker objects
    to in a graph that ONNX Runtime opens. The copy is checked, not the file: onnx refuses
    weights that are links or have several names, as those of download caches and backups do.
    """
    files = {}
    stored_names: dict[Path, str] = {}
    for data in dict.fromkeys(face.external.values()):
        copy = folder / "weights.bin"
        shutil.copyfile(data, copy)
        name = stored_names[data] = f"{file_sha256(copy)}{copy.suffix}"
        files[name] = copy.rename(folder / name)
    model = folder / f"model{ORT_ENDING if is_engine_format(face.path) else ONNX_ENDING}"
    if is_engine_format(face.path):
        shutil.copyfile(face.path, model)
    elif face.external or face.unnamed or is_part or is_put_in_order:
        for tensor in external_tensors(proto):
            for item in tensor.external_data:
                if item.key == "location":
                    item.value = stored_names[face.external[item.value]]
        model.write_bytes(proto.SerializeToString(deterministic=True))
    else:
        shutil.copyfile(face.path, model)
    objection = accepted(model, face.path.name, custom_ops)
    return Made({**files, MODEL: model}, {OBJECTION: objection})
