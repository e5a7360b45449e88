"""A session of TensorRT over the stand-in engine."""

from __future__ import annotations

from pathlib import Path

from runtimes.base import Session
from runtimes.options import OptionValue, Settings
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.graphs import Graphs


def compiled(graphs: Graphs, cache: Path | str = "", **options: OptionValue) -> Session:
    settings = Settings(options=options, cache_dir=str(cache))
    return TensorRt().compile(graphs.dense, {"batch": 1}, settings)
