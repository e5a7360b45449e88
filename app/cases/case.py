"""One point of a sweep, and the hash that names it.

A case says what was asked for, never what happened: its id is the same on every host.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from app.cases.given import NOTHING, Given
from exporters.types import Precision
from runtimes.options import OptionValue

ScenarioKind = Literal["closed_loop", "paced"]
WaitPolicy = Literal["spin", "hybrid", "sleep"]

_SCENARIO = re.compile(r"(?P<kind>closed_loop|paced)(:(?P<gap>\d+(\.\d+)?)(?P<unit>us|ms|s))?")
_MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, slots=True)
class Scenario:
    """When the next request is sent: at once, or `gap_us` after the last completion."""

    kind: ScenarioKind = "closed_loop"
    gap_us: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """`closed_loop` or `paced:20us` (us, ms, s); ValueError with one sentence."""
        match = _SCENARIO.fullmatch(text)
        if match is None or (match["kind"] == "paced") != (match["gap"] is not None):
            raise ValueError(f"scenario {text!r} is not known; use closed_loop or paced:20us")
        gap = float(match["gap"]) * _MICROSECONDS[match["unit"]] if match["gap"] else 0.0
        return cls(match["kind"], gap)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.kind if self.kind == "closed_loop" else f"{self.kind}:{self.gap_us:g}us"


@dataclass(frozen=True, slots=True)
class Case:
    """model x runtime x precision x axes x threads x options x scenario.

    `model` is a catalogue name, an .onnx path as the plan gives it, or
    `path/file.py:factory`; `runtime` is `name[:device][@release]`; `axes` are the sizes
    asked for, all of them (`batch`, `sequence`, and a user's own names).
    """

    model: str
    runtime: str
    precision: Precision = "fp32"
    axes: Mapping[str, int] = field(default_factory=dict)
    threads: int = 1
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    scenario: Scenario = Scenario()
    wait_policy: WaitPolicy = "spin"
    suite: str = ""
    given: Given = NOTHING

    @property
    def case_id(self) -> str:
        """12 hex digits of the sha256 of the axes; neither suite nor paths of files are axes."""
        axes = asdict(self)
        del axes["suite"], axes["given"]
        axes |= self.given.identity
        text = json.dumps(axes, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        scenario, given = Scenario(**data["scenario"]), Given.from_json(data.get("given", {}))
        return cls(**{**data, "scenario": scenario, "given": given})
