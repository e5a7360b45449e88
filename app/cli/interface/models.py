"""Models as a program has them, in memory or on disk, as the names that a plan has."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from app.cases.errors import PlanError, unwritable
from app.plan.plan_files import name_from
from app.run_folder.files import write_atomically
from exporters.install_layout import load
from exporters.types import ExportError

if TYPE_CHECKING:
    from onnx import ModelProto

Model: TypeAlias = "str | Path | ModelProto | tuple[Any, ...] | Callable[[], Any]"
"""A path or name, an ONNX model, (torch module, example inputs), or a function that returns it."""
Models: TypeAlias = "Model | Iterable[Model] | Mapping[str, Model]"
"""One, several, or several by the names that rows call them."""

FOLDER = Path("graphlap-results") / "models"
"""Where models are kept that have no file, each below the digest of its content."""
_FORM = (
    "give a path, a name, an onnx.ModelProto, (torch module, example inputs), or a function that "
    "returns the latter"
)


def words_of(models: Models) -> list[str]:
    """The models as words of a command line, those without a file written to one.

    PlanError for what is no model, and for a module that torch can't export.
    """
    if isinstance(models, Mapping):
        words = [_word(model, name) for name, model in models.items()]
    elif _is_one(models):
        words = [_word(models)]
    else:
        several: Any = models
        words = [_word(model) for model in several]
    if not words:
        raise PlanError("there is nothing to measure", _FORM)
    return words


def _word(model: Any, name: str = "") -> str:
    if isinstance(model, str | Path):
        if name:
            raise PlanError(f"{model}: a model with a file has its name already", "Leave it out")
        return str(model)
    if _is_torch(model):
        raise PlanError("a torch module needs example inputs", "give (module, inputs)")
    if isinstance(model, tuple) and model and _is_torch(model[0]):
        return _export_model(model, name or type(model[0]).__name__)
    if callable(model):
        if not name and (target := _target(model)):
            return target
        name = name or getattr(model, "__name__", "model").strip("<>")
        factory_result = model()
        if not (
            isinstance(factory_result, tuple) and factory_result and _is_torch(factory_result[0])
        ):
            raise PlanError(f"{name} returned no (torch module, example inputs)", _FORM)
        return _export_model(factory_result, name)
    from onnx import ModelProto

    if isinstance(model, ModelProto):
        return _save_model(_serialize(model), name or model.graph.name or "model")
    raise PlanError(f"{type(model).__name__} is no model", _FORM)


def _is_one(models: Any) -> bool:
    """Whether it is one model; modules of torch can be sequences."""
    if isinstance(models, tuple) and models and _is_torch(models[0]):
        return True
    return isinstance(models, str) or _is_torch(models) or not isinstance(models, Iterable)


def _is_torch(model: Any) -> bool:
    """Whether it is a module of torch, which then has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _target(function: Callable[[], Any]) -> str:
    """`file.py:function` of a function that another process can import; "" for others, such as
    those of a notebook, and of a script, which would run again."""
    module = inspect.getmodule(function)
    path = getattr(module, "__file__", None) or ""
    top_level = getattr(function, "__qualname__", "").isidentifier()
    if module is None or module.__name__ == "__main__" or module.__package__ or not top_level:
        return ""
    return f"{path}:{function.__name__}" if path.endswith(".py") else ""


def _export_model(made: tuple[Any, ...], name: str) -> str:
    try:
        data = load("exporters.pytorch.definition:onnx_bytes")(made, name)
    except ExportError as error:
        raise PlanError(error.cause, error.remedy) from error
    return _save_model(data, name)


def _serialize(model: ModelProto) -> bytes:
    try:
        return model.SerializeToString(deterministic=True)
    except Exception as error:  # protobuf has several for what is larger than 2 GB
        raise PlanError(
            f"the model can't be written in one file ({error})",
            "save it with external data, and give its path",
        ) from error


def _save_model(data: bytes, name: str) -> str:
    """A file of this content and name, which is written once."""
    path = FOLDER / sha256(data).hexdigest()[:12] / f"{name_from(name)}.onnx"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
    except OSError as error:
        raise unwritable(path, error) from error
    return str(path)
