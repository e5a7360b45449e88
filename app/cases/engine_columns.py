"""The columns of which engine was really loaded, and from where."""

from __future__ import annotations

from app.cases.column import text

ENGINE = (
    text(
        "environment",
        "Environment",
        "The environment that the case names, an interpreter with its packages; empty for ours.",
        group="identity",
    ),
    text(
        "engine_distribution",
        "Engine package",
        "The installed package that the engine is of, such as onnxruntime or onnxruntime-gpu.",
    ),
    text(
        "engine_path",
        "Engine path",
        "The file that the measuring process loaded as the engine; empty for one that is ours.",
    ),
)
