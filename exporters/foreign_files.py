"""Files that are no ONNX graph, told by their first bytes and names, with what makes a graph of
them.

The parent reads them too, without onnx.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from exporters.file_access import open_file
from exporters.types import ONNX_ENDING, ORT_ENDING, ExportError

_HEAD_BYTES = 512
_LFS = b"version https://git-lfs"
_ARCHIVES = {
    b"PK\x03\x04": "zip",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7z",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_TORCH_ENDINGS = (".pt", ".pth", ".pt2", ".bin", ".ckpt", ".safetensors")
_CONVERTED = {".pb": "--graphdef", ".tflite": "--tflite", ".h5": "--keras", ".keras": "--keras"}
"""TensorFlow's files by ending, each with the option of tf2onnx that reads it."""
_ENGINE_FILES = {
    ".plan": "TensorRT",
    ".engine": "TensorRT",
    ".xml": "OpenVINO",
    ".mlmodel": "Core ML",
    ".pdmodel": "PaddlePaddle",
    ".gguf": "llama.cpp",
}
FOREIGN_ENDINGS = frozenset({*_TORCH_ENDINGS, *_CONVERTED, *_ENGINE_FILES})


def pointer(path: Path) -> ExportError | None:
    """Of a file that Git LFS left in place of the content; None for any other."""
    if not _head(path).startswith(_LFS):
        return None
    return ExportError(
        f"{path.name} is a pointer of Git LFS, not the content of the file",
        "run git lfs pull in its folder",
    )


def foreign(path: Path) -> ExportError | None:
    """What a file or folder is that is no ONNX graph, and what helps; None where nothing tells."""
    if path.is_dir():
        is_tensorflow = (path / "saved_model.pb").is_file()
        return _by_tensorflow(path, "--saved-model") if is_tensorflow else None
    if fault := pointer(path):
        return fault
    head, name, ending = _head(path), path.name, path.suffix.lower()
    if not head.strip(b"\0"):
        cause = "begins with zeros, as an unfinished download does" if head else "is empty"
        return ExportError(f"{name} is not an ONNX file: it {cause}", "copy or download it again")
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype html", b"<html")):
        return ExportError(
            f"{name} is not an ONNX file: it is a web page",
            "download the file that the page shows (GitHub: Download raw file; Hugging Face: its "
            "address with /resolve/ in place of /blob/)",
        )
    if head[4:8] == b"ORTM" and ending != ORT_ENDING:
        return ExportError(
            f"{name} is in ONNX Runtime's own format", f"name it {path.stem}{ORT_ENDING}"
        )
    if head[4:8] == b"TFL3":
        return _by_tensorflow(path, "--tflite")
    if head.startswith(b"\x89HDF"):
        return _by_tensorflow(path, "--keras")
    members = _members(path)
    is_pickle = head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5"
    is_torch = is_pickle or head[8:10] == b'{"' or any(m.endswith("data.pkl") for m in members)
    if is_torch or ending in _TORCH_ENDINGS:
        return _by_torch(path)
    if ending in _CONVERTED:
        if name == "saved_model.pb":
            return _by_tensorflow(path.parent, "--saved-model")
        return _by_tensorflow(path, _CONVERTED[ending])
    if ending in _ENGINE_FILES:
        return ExportError(
            f"{name} is a model of {_ENGINE_FILES[ending]}, not an ONNX file",
            f"give the {ONNX_ENDING} file that it was made from",
        )
    kind = next((kind for start, kind in _ARCHIVES.items() if head.startswith(start)), "")
    if kind or head[257:262] == b"ustar":
        return ExportError(
            f"{name} is not an ONNX file: it is a {kind or 'tar'} archive",
            f"unpack it, and give the {ONNX_ENDING} file in it",
        )
    first = head.decode("utf-8", "replace").strip().partition("\n")[0].strip()[:60]
    if first.isprintable() and "\ufffd" not in first:
        return ExportError(
            f"{name} is not an ONNX file: it is a text that begins with {first!r}",
            "download it again, or give a model saved by onnx.save",
        )
    return None


def _by_torch(path: Path) -> ExportError:
    cause = f"{path.name} is a file of PyTorch, and only a graph can be measured"
    if (path.parent / "config.json").is_file():
        return ExportError(cause, f"graphlap run hf:{path.parent} exports the model and runs it")
    return ExportError(
        cause,
        f"export its module with torch.onnx.export(module, inputs, '{path.stem}{ONNX_ENDING}'), or "
        "write a function that returns (module, {input name: example tensor}) and give it as "
        "graphlap run FILE.py:FUNCTION",
    )


def _by_tensorflow(path: Path, option: str) -> ExportError:
    ends = " --inputs NAME:0 --outputs NAME:0" if option == "--graphdef" else ""
    return ExportError(
        f"{path.name} is a model of TensorFlow, not an ONNX file",
        "pip install tf2onnx, then python -m tf2onnx.convert "
        f"{option} {path}{ends} --output {path.stem}{ONNX_ENDING}",
    )


def _head(path: Path) -> bytes:
    """The first bytes; none of a file that can't be read."""
    try:
        with open_file(path) as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def _members(path: Path) -> list[str]:
    """The names in a zip archive, as those that torch writes."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return []
