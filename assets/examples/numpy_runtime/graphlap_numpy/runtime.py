"""What the runtime is. Graphlap imports this to list it, so the engine is not imported here."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

from graphlap.runtime import Availability, Available, Request, Runtime, Session, Unavailable


class Numpy(Runtime):
    name = "numpy"
    summary = "eleven operators, computed by numpy on one thread"

    def availability(self) -> Availability:
        if find_spec("onnx") is None:
            return Unavailable("onnx is not installed", "pip install onnx")
        return Available(version("numpy"))

    def load(self) -> None:
        import onnx  # noqa: F401 - what reading a graph takes is no part of compiling it

    def _compile(self, request: Request) -> Session:
        from graphlap_numpy.session import NumpySession

        return NumpySession(request)
