"""Graphlap's own tests of a runtime, and what this one alone has to keep."""

from graphlap.contract import ENGINES, RuntimeContract


class TestNumpy(RuntimeContract):
    name = "numpy"
    engines = ENGINES | {"onnx"}
