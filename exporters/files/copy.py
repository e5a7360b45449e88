"""The step that keeps a user's graph: checked, and copied with the weights of its other files.

The file's own bytes are kept. Only where it cannot be kept so, because a part was cut out, its
weights lie in other files, an open dimension has no name or a node stood before one that it
reads, is it written anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from onnx import ModelProto

from exporters.digest import file_sha256
from exporters.files.external import external_tensors
from exporters.files.face import OnnxFile
from exporters.made import Made
from exporters.validate import check_file

MODEL = "model"


def copied(
    folder: Path, face: OnnxFile, proto: ModelProto, is_part: bool, is_put_in_order: bool
) -> Made:
    """The graph and its weights; ExportError if it is no valid graph.

    `proto` is the graph of `face`, and says where the store keeps its weights afterwards.
    `is_put_in_order` says that its nodes were not. The copy is checked, not the file: onnx refuses
    weights that are links or have several names, as those of download caches and backups do.
    """
    files = {}
    stored_names: dict[Path, str] = {}
    for data in dict.fromkeys(face.external.values()):
        copy = folder / "weights.bin"
        shutil.copyfile(data, copy)
        name = stored_names[data] = f"{file_sha256(copy)}{copy.suffix}"
        files[name] = copy.rename(folder / name)
    model = folder / "model.onnx"
    if face.external or face.unnamed or is_part or is_put_in_order:
        for tensor in external_tensors(proto):
            for item in tensor.external_data:
                if item.key == "location":
                    item.value = stored_names[face.external[item.value]]
        model.write_bytes(proto.SerializeToString(deterministic=True))
    else:
        shutil.copyfile(face.path, model)
    check_file(model, face.path.name)
    return Made({**files, MODEL: model})
