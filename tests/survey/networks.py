"""The networks of the survey: what each is called, whose it is, and what `--models` is given.

Factories are the public functions of two files; fitted estimators are written as files first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.survey.fitted import ESTIMATORS

_FOLDER = Path(__file__).parent
_FACTORIES = {"hugging_face.py": "transformers", "image_nets.py": "torchvision, timm"}
_BY_TIMM = "_of_timm"


@dataclass(frozen=True, slots=True)
class Network:
    """`factory` is `path/file.py:function`, empty for a fitted estimator."""

    name: str
    source: str
    factory: str = ""


def networks() -> tuple[Network, ...]:
    """All of them, in the order of the table."""
    return (*_factory_networks(), *_fitted_networks())


def _factory_networks() -> Iterator[Network]:
    for file, source in _FACTORIES.items():
        path = _FOLDER / file
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield Network(node.name, _source(source, node), f"{path}:{node.name}")


def _source(source: str, function: ast.FunctionDef) -> str:
    both = source.split(", ")
    by_timm = any(isinstance(n, ast.Name) and n.id == _BY_TIMM for n in ast.walk(function))
    return both[-1] if by_timm else both[0]


def _fitted_networks() -> Iterator[Network]:
    for name in ESTIMATORS:
        yield Network(name, "xgboost" if name.startswith("xgboost") else "scikit-learn")
