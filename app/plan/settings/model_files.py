"""Files of the user's own for the models of a plan, and which part of them is measured."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field, FiniteFloat, field_validator

from app.cases.setting import (
    FILES_FOLD,
    LIMITS_FOLD,
    MODEL,
    PLANNED,
    Pairs,
    Setting,
    Switch,
    Word,
    Words,
    always,
    span,
    span_text,
    words_of,
)
from app.plan.settings.limits import Limits
from app.plan.settings.measurements import On
from exporters.types import InvalidValue

_COMPILE_COMMANDS = (*PLANNED, "check")


class ModelFiles(Limits, frozen=True):
    """They hold for all models of the plan. Several sets of `inputs` are fed in turn, from run to
    run."""

    fold: ClassVar[str] = FILES_FOLD

    weights: Annotated[
        str,
        Setting(
            metavar="FILE",
            help="safetensors for the models of --models",
            form=Word(sample="trained.safetensors"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            label="Weights",
            absent="drawn by the seed",
        ),
    ] = ""
    inputs: Annotated[
        tuple[str, ...],
        Setting(
            metavar="PATH",
            help="your inputs, an .npz or a folder; repeat it for several sets",
            form=Words(repeated=True, sample="inputs.npz"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            label="Inputs",
            absent="drawn by the seed",
            notes="By the names of the inputs. A folder holds an `.npz` for each set, or one set "
            "as `input_0.pb` … or as `.npy` files named after the inputs, or folders of these. "
            "Several sets are fed in turn, and the answer has the latency of each. Sizes are those "
            "of the arrays.",
        ),
    ] = ()
    calibration: Annotated[
        str,
        Setting(
            metavar="FILE",
            help=".npz of samples for int8 and fp8",
            form=Word(sample="samples.npz"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            label="Calibration",
            absent="drawn by the seed",
        ),
    ] = ""
    from_nodes: Annotated[
        tuple[str, ...],
        Setting(
            flag="--from-node",
            metavar="A,B",
            help="measure a part of an .onnx file that begins at these nodes",
            form=Words(sample="conv1"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            label="First nodes",
            absent="the whole graph",
        ),
    ] = ()
    to_nodes: Annotated[
        tuple[str, ...],
        Setting(
            flag="--to-node",
            metavar="A,B",
            help="measure a part of an .onnx file that ends at these nodes",
            form=Words(sample="relu4"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            label="Last nodes",
            absent="the whole graph",
        ),
    ] = ()
    rotate_inputs: Annotated[
        On,
        Setting(
            help="draw 8 sets of inputs and change them from run to run",
            form=Switch(),
            group=MODEL,
            label="Rotate inputs",
        ),
    ] = False
    save_inputs: Annotated[
        On,
        Setting(
            help="keep the inputs in the run folder",
            form=Switch(),
            group=MODEL,
            label="Save inputs",
        ),
    ] = False
    input_range: Annotated[
        dict[str, tuple[FiniteFloat, FiniteFloat]],
        Setting(
            metavar="NAME=LO:HI",
            help="range of a generated input; integers include both ends",
            form=Pairs("ids=0:999", span, span_text, name_has_equals=True),
            group=MODEL,
            label="Input ranges",
            absent="derived from the graph's names and uses",
            notes="The range of a generated input: `input_range.ids = [0, 999]`. Finite numbers "
            "that the input's type can hold.",
        ),
    ] = Field(default_factory=dict)
    states: Annotated[
        dict[str, str],
        Setting(
            flag="--state",
            metavar="OUT=IN",
            help="an output that becomes this input in the next run",
            form=Pairs("h_out=h_in"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            label="States",
            absent="the model's own",
        ),
    ] = Field(default_factory=dict)
    custom_ops: Annotated[
        tuple[str, ...],
        Setting(
            metavar="FILE",
            help="a library of operators for ONNX Runtime",
            form=Words(repeated=True, sample="operators.so"),
            group=MODEL,
            commands=_COMPILE_COMMANDS,
            runs_code=always,
            label="Operators",
        ),
    ] = ()
    checked: Annotated[
        On,
        Setting(
            flag="--no-verify-outputs",
            toml="verify_outputs",
            help="skip output verification",
            form=Switch(False),
            group=MODEL,
            label="Compare outputs",
            fold=LIMITS_FOLD,
            notes="Whether outputs are compared with a reference.",
        ),
    ] = True

    @field_validator("inputs", mode="before")
    @classmethod
    def _parted(cls, inputs: object) -> object:
        """One text is a set, or several with commas."""
        return words_of(inputs, "inputs") if isinstance(inputs, str) and inputs else inputs or ()

    @field_validator("input_range")
    @classmethod
    def _rising(cls, ranges: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        for name, (low, high) in ranges.items():
            if not low <= high:
                raise InvalidValue(f"of {name} begins above its end", "give the lower end first")
            if not math.isfinite(high - low):
                raise InvalidValue(
                    f"of {name} is wider than any number", "give ends that are nearer"
                )
        return ranges
