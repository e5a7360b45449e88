"""What the export process is asked and what it answers: JSON lines on its pipes.

`python -m exporters.worker` reads `ExportRequest` lines from standard input until it ends,
and writes one `ExportReply` line for each, in order. One process serves many requests, so
that importing torch is paid once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporters.types import ExportedModel, Precision


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """One model in one precision, with a reference for each point of its axes.

    `model` is a catalogue name or alias, an .onnx path, `path/file.py:factory` or `hf:PATH`.
    `points` are assignments of the model's axes; what they leave out is at its default.
    `weights` is a safetensors file for a definition, `inputs` an .npz of the user's own
    inputs, `calibration` one for int8;
    `more_inputs` are further sets, fed in turn with the first where `rotate_inputs` says so.
    `from_nodes` and `to_nodes` cut a part out of a user's graph. `input_range` bounds what is
    drawn, both ends included for integers; `states` maps outputs to the inputs that they become.
    `custom_ops` are libraries of operators for ONNX Runtime. Not `checked`: nothing is expected
    of the outputs.
    `null_of` asks for the null twin of a model that is exported, which `model` then names.
    `cache_limit_bytes` 0 is the cache's own limit.
    """

    model: str
    precision: Precision = "fp32"
    points: tuple[Mapping[str, int], ...] = ()
    weights: str = ""
    inputs: str = ""
    calibration: str = ""
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    more_inputs: tuple[str, ...] = ()
    rotate_inputs: bool = False
    input_range: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    custom_ops: tuple[str, ...] = ()
    checked: bool = True
    cache_dir: str = ""
    seed: int = 0
    null_of: ExportedModel | None = None
    cache_limit_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ExportReply:
    """The model, or why there is none; `cached` says that nothing had to be exported.

    `status` is a row's, `cancelled` where nothing is said of the model because the disk is full;
    `reason` is one sentence. `transient`: circumstances made the export fail, such as a file that
    is not there, and not the model.
    """

    status: str
    model: ExportedModel | None = None
    reason: str = ""
    cached: bool = False
    export_ms: float = 0.0
    transient: bool = False
