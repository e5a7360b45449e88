"""Operators of which onnx's evaluator is not believed, with types and attributes, and why.

Found by comparing it with ONNX Runtime on random nodes. What it gives for such a node, and for what
depends on it, is no reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import TensorProto

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
     "RandomUniformLike")
)  # fmt: skip
"""Operators whose outputs are drawn, so that no two engines agree on them; no seed is heeded."""


@dataclass(frozen=True, slots=True)
class Use:
    """A node as it is run: opset, attributes with their defaults, inputs, number of outputs."""

    opset: int
    attributes: Mapping[str, Any]
    inputs: Sequence[Any]
    outputs: int

    def input(self, place: int) -> Any:
        """None where it is left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def kind(self, place: int = 0) -> str:
        """The name of an input's type; "" of what is no tensor."""
        return str(getattr(self.input(place), "dtype", ""))

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes.get(attribute)


@dataclass(frozen=True, slots=True)
class Row:
    """`operators` with a space between them; `when` None is always.

    Outputs from place `first` on are not believed. `is_undefined`: nobody is, since ONNX leaves
    open what they are.
    """

    operators: str
    reason: str
    source: str
    when: Callable[[Use], bool] | None = None
    domain: str = ""
    first: int = 0

    @property
    def is_undefined(self) -> bool:
        return "not defined" in self.reason


_ML = "ai.onnx.ml"
_TEXT, _BOOL = 8, 9
_FEW_BITS = (21, 22, 25, 26)
"""The numbers of the types UINT4, INT4, UINT2 and INT2."""


def _has_other_activations(use: Use, *usual: str) -> bool:
    names = [str(name).lower() for name in use["activations"] or ()]
    return names != [*usual] * (len(names) // len(usual))


def _has_lengths(use: Use) -> bool:
    lengths = use.input(4)
    return lengths is not None and bool((lengths != use.input(0).shape[bool(use["layout"])]).any())


def _is_real(use: Use) -> bool:
    return use.kind().startswith(("float", "bfloat"))


def _leaves_range(use: Use, target: str) -> bool:
    """Whether a real number is none of the integers of the type that it is cast to."""
    if not _is_real(use) or not re.fullmatch(r"u?int(8|16|32|64)", target):
        return False
    limits = np.iinfo(target)
    whole = np.trunc(use.input(0).astype(np.float64))
    return not bool(((whole >= limits.min) & (whole <= limits.max)).all())


def _is_usual_resize(use: Use) -> bool:
    usual = ("align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel")
    rare = ("antialias", "exclude_outside")
    return (
        (use["coordinate_transformation_mode"] or usual[0]) in usual
        and (use["keep_aspect_ratio_policy"] or "stretch") == "stretch"
        and not any(use[name] for name in rare)
    )


def _cancels(use: Use) -> bool:
    """Whether what is normalised together spreads by less than a tenth of its mean."""
    values = use.input(0).astype(np.float64)
    axes = tuple(use["axes"] or (0, 2, 3))
    return bool((values.var(axes) < 0.01 * np.square(values.mean(axes))).any())


def _starts_below(use: Use) -> bool:
    data, starts, _, axes, steps = (use.input(place) for place in range(5))
    if steps is None:
        return False
    places = range(len(starts)) if axes is None else axes
    return any(
        step < 0 and start < -data.shape[axis]
        for start, axis, step in zip(starts, places, steps, strict=True)
    )


def _leaves_gaps(use: Use, kind: str, count: int) -> bool:
    """Whether a row may reach no leaf with a score for something."""
    ids: dict[tuple[int, int], set[int]] = {}
    trees, nodes = use[f"{kind}_treeids"], use[f"{kind}_nodeids"]
    for tree, node, number in zip(trees, nodes, use[f"{kind}_ids"], strict=True):
        ids.setdefault((tree, node), set()).add(number)
    by_tree: dict[int, set[int]] = {}
    modes = zip(use["nodes_treeids"], use["nodes_nodeids"], use["nodes_modes"], strict=True)
    for tree, node, mode in modes:
        if mode == "LEAF":
            leaf = ids.get((tree, node), set())
            by_tree[tree] = by_tree.get(tree, leaf) & leaf
    return set().union(*by_tree.values()) != set(range(count))


_NONE = "onnx's evaluator lacks it"
ROWS: tuple[Row, ...] = (
    Row("*", _NONE, "onnx/reference knows ONNX's own domains alone", domain="com.microsoft"),
    Row("CastMap CategoryMapper", _NONE, "onnx/reference/ops/aionnxml", domain=_ML),
    Row("GlobalLpPool MaxRoiPool Multinomial Scatter", _NONE, "onnx/reference/ops"),
    Row("GRU LSTM RNN", "it passes over clip", "ONNX LSTM: clip", lambda n: bool(n["clip"])),
    Row("GRU LSTM RNN", "it passes over sequence_lens", "ONNX LSTM: sequence_lens", _has_lengths),
    Row("GRU", "it passes over activations", "ONNX GRU: activations",
        lambda n: _has_other_activations(n, "sigmoid", "tanh")),
    Row("LSTM", "it passes over activations", "ONNX LSTM: activations",
        lambda n: _has_other_activations(n, "sigmoid", "tanh", "tanh")),
    Row("LSTM", "it passes over input_forget", "ONNX LSTM: input_forget",
        lambda n: bool(n["input_forget"])),
    Row("MaxPool", "indices are of another axis, or of the padding", "ONNX MaxPool: Indices",
        lambda n: n.outputs > 1, first=1),
    Row("AveragePool LpPool MaxPool", "what VALID means with ceil_mode is not defined",
        "the text has no window over the end, ONNX's shape inference has one",
        lambda n: n["auto_pad"] == "VALID" and bool(n["ceil_mode"])),
    Row("AffineGrid", "it gives float32, and begins an axis of one element at -1",
        "torch.nn.functional.affine_grid",
        lambda n: n.kind() != "float32" or 1 in n.input(1)[2:]),
    Row("Attention", "the product is after its soft cap where it is asked for before",
        "ONNX Attention: qk_matmul_output_mode 0",
        lambda n: n.outputs > 3 and bool(n["softcap"]) and not n["qk_matmul_output_mode"],
        first=3),
    Row("BatchNormalization", "what stands next to y outside of training is not defined",
        "ONNX BatchNormalization-7 and -9", lambda n: n.opset < 14 and n.outputs > 1,
        first=1),
    Row("BatchNormalization", "running statistics are in the type of x",
        "ONNX BatchNormalization-14: T2",
        lambda n: bool(n["training_mode"]) and n.kind() != n.kind(3), first=1),
    Row("Cast", "how a real number becomes an integer of few bits is not defined", "ONNX Cast",
        lambda n: n["to"] in _FEW_BITS and _is_real(n)),
    Row("Cast", "what a number beyond the range of the integer becomes is not defined", "ONNX Cast",
        lambda n: _leaves_range(n, TensorProto.DataType.Name(n["to"]).lower())),
    Row("CastLike", "what a number beyond the range of the integer becomes is not defined",
        "ONNX Cast", lambda n: _leaves_range(n, n.kind(1))),
    Row("CastLike", "how a real number becomes an integer of few bits is not defined",
        "ONNX Cast", lambda n: n.kind(1).endswith(("int4", "int2")) and _is_real(n)),
    Row("Cast CastLike", "which texts are true is not defined", "ONNX Cast",
        lambda n: n.kind().startswith(("object", "<U"))
        and (n["to"] == _BOOL or n.kind(1) == "bool")),
    Row("MeanVarianceNormalization", "it subtracts squares, which cancels",
        "ONNX MeanVarianceNormalization: E(X - EX)^2", _cancels),
    Row("Cast CastLike", "how reals and truth values are written is not defined", "ONNX Cast",
        lambda n: (_is_real(n) or n.kind() == "bool")
        and (n["to"] == _TEXT or n.kind(1).startswith(("object", "<U")))),
    Row("Clip", "it leaves infinities where a bound is missing", "ONNX Clip: numeric_limits",
        lambda n: _is_real(n) and len([x for x in n.inputs if x is not None]) < 3
        and None in (n["min"], n["max"]) and bool(np.isinf(n.input(0)).any())),
    Row("ConvTranspose", "it pads and groups otherwise",
        "ONNX ConvTranspose: auto_pad, output_shape, group",
        lambda n: bool(n["output_shape"]) or str(n["auto_pad"]).startswith("SAME")
        or (n["group"] or 1) > 1),
    Row("Dropout", "the mask of a dropout that drops nothing is not defined below opset 12",
        "ONNX Dropout-7 and -10", lambda n: n.opset < 12 and n.outputs > 1,
        first=1),
    Row("GridSample", "it moves the coordinate of a cubic to the border", "torch.grid_sample",
        lambda n: "cubic" in str(n["mode"]) and n["padding_mode"] != "zeros"),
    Row("GridSample", "it rounds coordinates to half precision", "torch.grid_sample",
        lambda n: n.kind(1) in ("float16", "float64")),
    Row("LayerNormalization", "mean and deviation are in the type of x",
        "ONNX LayerNormalization: stash_type",
        lambda n: n.outputs > 1 and n.kind() == "float64", first=1),
    Row("Hardmax", "it takes one axis, not what the shape is folded to", "ONNX Hardmax-1",
        lambda n: n.opset < 13),
    Row("LpPool", "it divides by another count where a window is cut off", "ONNX LpPool",
        lambda n: bool(n["ceil_mode"]) or n["auto_pad"] not in (None, "NOTSET")),
    Row("RoiAlign", "it shifts regions by half an element below opset 16", "ONNX RoiAlign-10",
        lambda n: n.opset < 16),
    Row("Loop", "it joins what turns give along its first axis", "ONNX Loop: scan_outputs",
        lambda n: n.outputs > len(n.inputs) - 2),
    Row("Loop", "it makes no turn where the condition is left out", "ONNX Loop: cond",
        lambda n: n.input(1) is None),
    Row("LpNormalization", "it does not take absolute values", "ONNX LpNormalization: p",
        lambda n: n["p"] == 1),
    Row("Optional", "it gives a list of the value", "ONNX Optional"),
    Row("ReduceSumSquare", "it gives 64 bits for any integer", "ONNX ReduceSumSquare: T",
        lambda n: not _is_real(n)),
    Row("Resize", "no reference for rare ways to read between elements", "ONNX Resize",
        lambda n: not _is_usual_resize(n)),
    Row("Resize", "how it rounds downwards is not defined in opset 10", "ONNX Resize-10",
        lambda n: n.opset < 11 and n["mode"] == "nearest" and n.input(1).min() < 1),
    Row("SequenceInsert", "it puts the last of all first", "ONNX SequenceInsert: position",
        lambda n: n.input(2) is not None and int(n.input(2).item()) == len(n.input(0))),
    Row("Shape", "it counts an end twice from the end", "ONNX Shape: end is clamped",
        lambda n: (n["end"] or 0) < -n.input(0).ndim or (n["start"] or 0) < -n.input(0).ndim),
    Row("Slice", "it counts a start twice from the end", "ONNX Slice: bounds are clamped",
        _starts_below),
    Row("StringNormalizer", "it takes accents, empty texts and parts of texts away",
        "ONNX StringNormalizer"),
    Row("StringSplit", "it keeps white space at the ends", "ONNX StringSplit"),
    Row("Unique", "it sorts, or counts along another axis", "ONNX Unique: sorted",
        lambda n: not n["sorted"]),
    Row("FeatureVectorizer LinearClassifier LinearRegressor Normalizer SVMClassifier Scaler "
        "TreeEnsembleRegressor", "it gives the type of x, not float32",
        "ONNX ai.onnx.ml: tensor(float)", lambda n: n.kind() != "float32", _ML),
    Row("LinearRegressor", "it gives NaN without intercepts", "ONNX LinearRegressor",
        lambda n: not n["intercepts"] or n["post_transform"] != "NONE", _ML),
    Row("LinearClassifier", "what one row of coefficients means is not defined",
        "ONNX LinearClassifier", lambda n: len(n["coefficients"]) <= n.input(0).shape[-1], _ML),
    Row("LinearClassifier", "labels are chosen after PROBIT", "ONNX LinearClassifier",
        lambda n: n["post_transform"] == "PROBIT", _ML),
    Row("DictVectorizer", "it does not know whether numbers of a map are float or double",
        "ONNX DictVectorizer: T1",
        lambda n: any(isinstance(v, float) for v in n.input(0).values()), _ML),
    Row("OneHotEncoder", "it does not make integers of real numbers", "ONNX OneHotEncoder",
        lambda n: _is_real(n) and bool((n.input(0) % 1).any()), _ML),
    Row("SVMClassifier", "it takes one rho for two classes, of which it gives other scores",
        "ONNX SVMClassifier: rho", lambda n: len(n["rho"]) == 1
        and not (n["classlabels_ints"] and n["vectors_per_class"] and min(n["coefficients"]) < 0
                 and n["post_transform"] == "NONE"), _ML),
    Row("SVMClassifier", "it couples the probabilities of three classes by a sum of products",
        "libsvm: multiclass_probability", lambda n: bool(n["prob_a"])
        and len(n["classlabels_ints"] or n["classlabels_strings"]) > 2, _ML, first=1),
    Row("TreeEnsemble", "it passes over post_transform", "ONNX TreeEnsemble: post_transform",
        lambda n: bool(n["post_transform"]), _ML),
    Row("TreeEnsemble", "the least and largest of a target that trees leave out are not defined",
        "ONNX TreeEnsemble: aggregate_function",
        lambda n: n["aggregate_function"] in (2, 3) and n["n_targets"] > 1, _ML),
    Row("Normalizer", "it divides by the largest absolute value", "ONNX Normalizer: MAX",
        lambda n: n["norm"] == "MAX", _ML),
    Row("TreeEnsembleRegressor", "a target that trees leave out is not defined",
        "ONNX TreeEnsembleRegressor", lambda n: _leaves_gaps(n, "target", n["n_targets"]), _ML),
    Row("TreeEnsembleClassifier", "leaves of one class alone are not defined",
        "ONNX TreeEnsembleClassifier",
        lambda n: _leaves_gaps(n, "class", len(n["classlabels_int64s"] or n["classlabels_strings"]
                                                )), _ML),
)  # fmt: skip


@cache
def _rows_of(domain: str, operator: str) -> tuple[Row, ...]:
    # With onnx's evaluator, whose import takes half as long as numpy's and which few files need.
    from exporters.onnx_evaluator.corrections import CORRECTIONS

    names = {operator} if operator in CORRECTIONS else {operator, "*"}
    return tuple(row for row in ROWS if row.domain == domain and (names & {*row.operators.split()}))


UNDEFINED = frozenset(name for r in ROWS if r.is_undefined for name in r.operators.split())
"""Operators of which ONNX leaves something open."""


def row_against(domain: str, operator: str, use: Use) -> Row | None:
    """The row by which the evaluator is not believed for this node."""
    return next((r for r in _rows_of(domain, operator) if r.when is None or r.when(use)), None)
