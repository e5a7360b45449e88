"""What the null twin of a model is called: `null(mlp)` beside `mlp`.

No catalogue name has a bracket, and no path of an .onnx file, factory or `hf:` folder that is
measured both begins with `null(` and ends with `)`: the name is nobody else's.
"""

from __future__ import annotations

_BEGINS, _ENDS = "null(", ")"


def null_of(model: str) -> str:
    """The name of a model's null twin."""
    return f"{_BEGINS}{model}{_ENDS}"


def is_null(model: str) -> bool:
    """Whether the name is that of a null twin."""
    return model.startswith(_BEGINS) and model.endswith(_ENDS)


def original_of(model: str) -> str:
    """The model whose twin has this name; the name itself if it is no twin's."""
    return model.removeprefix(_BEGINS).removesuffix(_ENDS) if is_null(model) else model
