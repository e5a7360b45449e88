"""One runtime on one GPU as the checks use it: sessions, and times of its runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from runtimes.base import Lane, Runtime, Session
from runtimes.options import OptionValue, Settings
from runtimes.session.session_group import compile_sessions
from tests.gpu.device import Device
from tests.gpu.models import Model, Models

Options = Mapping[str, OptionValue]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check got and wanted."""

    got: str
    wanted: str
    passed: bool


class Subject:
    """Keeps the last session open, so that checks of one configuration share it."""

    def __init__(self, runtime: Runtime, device: Device, models: Models, cache_dir: str) -> None:
        self.runtime, self.device, self.models = runtime, device, models
        self._cache_dir = cache_dir
        self._key: object = None
        self._session: Session | None = None

    def compile(self, model: Model, options: Options) -> Session:
        """A new session, which the caller closes."""
        settings = Settings(options=dict(options), cache_dir=self._cache_dir)
        return compile_sessions(self.runtime, model.exported, model.axes, settings)

    def session(self, model: Model, options: Options) -> Session:
        """A session with the model's inputs in its first lane, open until another is asked for."""
        key = (model.exported.name, tuple(sorted(options.items())))
        if self._session is None or key != self._key:
            self.close()
            self._session, self._key = self.compile(model, options), key
        self._session.lanes[0].enter()
        self._session.lanes[0].bind(model.inputs)
        return self._session

    def lane(self, model: Model, options: Options) -> Lane:
        return self.session(model, options).lanes[0]

    def times_ns(self, call: Callable[[], object], runs: int = 15, warm: int = 5) -> list[int]:
        """How long each of several calls takes on the host's clock."""
        for _ in range(warm):
            call()
        times = []
        for _ in range(runs):
            begin = self.device.now_ns()
            call()
            times.append(self.device.now_ns() - begin)
        return times

    def median_ns(self, call: Callable[[], object], runs: int = 15, warm: int = 5) -> float:
        return statistics.median(self.times_ns(call, runs, warm))

    def left_us(self, call: Callable[[], object], tries: int = 5) -> float:
        """How long the device still works after a call; the median of several tries."""
        times = []
        for _ in range(tries):
            call()
            begin = self.device.now_ns()
            self.device.synchronize()
            times.append(self.device.now_ns() - begin)
        return statistics.median(times) / 1e3

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def largest_difference(
    actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
) -> float:
    """The largest difference of any element over the largest element; infinite for what is not a
    number, and for other names or shapes."""
    if actual.keys() != expected.keys():
        return np.inf
    largest = 0.0
    for name, expected_output in expected.items():
        if actual[name].shape != expected_output.shape:
            return np.inf
        difference = float(
            np.max(np.abs(actual[name] - expected_output)) / np.max(np.abs(expected_output))
        )
        largest = max(largest, np.inf if np.isnan(difference) else difference)
    return largest
