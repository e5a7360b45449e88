"""Nodes of ai.onnx.ml: linear models, trees and what prepares their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.differential.draft import Draft, generator, kind_of

ML = "ai.onnx.ml"
_POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _reals(d: Draft, count: int, low: float = -2, high: float = 2) -> list[float]:
    return [d.real(low, high) for _ in range(count)]


def _rows(d: Draft, features: int, param: str = "T") -> None:
    d.tensor([d.integer(1, 4), features], param)


@generator("Scaler", domain=ML)
def scaler(d: Draft) -> None:
    features = d.integer(1, 4)
    _rows(d, features)
    count = d.pick([1, features])
    d.set(offset=_reals(d, count), scale=_reals(d, count))


@generator("Normalizer", domain=ML)
def normalizer(d: Draft) -> None:
    _rows(d, d.integer(1, 4))
    d.maybe(0.8, norm=d.pick(["MAX", "L1", "L2"]))


@generator("Imputer", domain=ML)
def imputer(d: Draft) -> None:
    features = d.integer(1, 4)
    dtype = d.pick([np.float32, np.int64])
    x = d.values([d.integer(1, 4), features], dtype, -2, 2)
    count = d.pick([1, features])
    if dtype == np.float32:
        d.set(imputed_value_floats=_reals(d, count), replaced_value_float=float(x.flat[0]))
    else:
        d.set(imputed_value_int64s=d.integers(5, 9, count), replaced_value_int64=int(x.flat[0]))
    d.add(x)


@generator("LinearRegressor", domain=ML)
def linear_regressor(d: Draft) -> None:
    features, targets = d.integers(1, 4, 2)
    _rows(d, features)
    d.set(coefficients=_reals(d, features * targets), targets=targets)
    d.maybe(intercepts=_reals(d, targets))


@generator("LinearClassifier", domain=ML)
def linear_classifier(d: Draft) -> None:
    features, classes = d.integer(1, 4), d.integer(2, 4)
    _rows(d, features, "T1")
    rows = 1 if classes == 2 and d.chance() else classes
    d.set(coefficients=_reals(d, features * rows), intercepts=_reals(d, rows))
    d.set(classlabels_ints=list(range(classes)))
    d.maybe(post_transform=d.pick(_POST))
    d.outputs = 2


@generator("ZipMap", domain=ML)
def zip_map(d: Draft) -> None:
    labels = d.pick([{"classlabels_int64s": [3, 1]}, {"classlabels_strings": ["a", "b"]}])
    d.set(**labels)
    d.add(d.values([d.integer(1, 4), 2], np.float32))


@generator("OneHotEncoder", domain=ML)
def one_hot_encoder(d: Draft) -> None:
    x = d.tensor(d.shape(1, 2), "T", 0, 3)
    texts = kind_of(x.dtype) == "O"
    d.inputs[0] = np.floor(x) if kind_of(x.dtype) == "f" and d.chance(0.8) else x
    d.set(**{"cats_strings": ["b", "", "2.5"]} if texts else {"cats_int64s": [0, 1, 2, 3]})
    d.set(zeros=1)


@generator("FeatureVectorizer", domain=ML)
def vectorizer(d: Draft) -> None:
    rows = d.integer(1, 3)
    widths = d.integers(1, 3, d.integer(1, 3))
    for width in widths:
        d.tensor([rows, width], "T1")
    d.set(inputdimensions=widths)


@generator("SVMRegressor", domain=ML)
def svm_regressor(d: Draft) -> None:
    features, supports = d.integers(1, 4, 2)
    _rows(d, features)
    d.set(
        kernel_type=d.pick(["LINEAR", "POLY", "RBF", "SIGMOID"]),
        kernel_params=[d.real(0.1, 1), d.real(-1, 1), 2.0],
        support_vectors=_reals(d, features * supports),
        coefficients=_reals(d, supports),
        n_supports=supports,
        rho=_reals(d, 1),
    )


@generator("SVMClassifier", domain=ML)
def svm_classifier(d: Draft) -> None:
    """By votes of pairs of classes, with probabilities or without, or by one line for each."""
    features, classes = d.integer(1, 4), d.integer(2, 4)
    _rows(d, features, "T1")
    pairs = classes * (classes - 1) // 2
    counts = d.integers(1, 3, classes)
    d.set(kernel_type="LINEAR", kernel_params=[d.real(0.1, 1), d.real(-1, 1), 2.0])
    if d.chance(0.3):
        d.set(coefficients=_reals(d, classes * features), rho=_reals(d, 1))
    else:
        d.set(
            kernel_type=d.pick(["LINEAR", "POLY", "RBF", "SIGMOID"]),
            support_vectors=_reals(d, features * sum(counts)),
            coefficients=_reals(d, (classes - 1) * sum(counts)),
            vectors_per_class=counts,
            rho=_reals(d, pairs),
        )
        if d.chance():
            d.set(prob_a=_reals(d, pairs, -2, -0.2), prob_b=_reals(d, pairs, -1, 1))
    d.set(**d.pick([{"classlabels_ints": [4, 2, 7, 1][:classes]},
                    {"classlabels_strings": ["d", "b", "g", "a"][:classes]}]))  # fmt: skip
    d.maybe(0.3, post_transform=d.pick(_POST))
    d.outputs = 2


@generator("DictVectorizer", domain=ML)
def dict_vectorizer(d: Draft) -> None:
    """A map with some keys of the vocabulary."""
    field, vocabulary = d.pick(
        [("string_vocabulary", ["a", "b", "the cat", ""]), ("int64_vocabulary", [3, 1, -2, 9])]
    )
    kind = np.dtype(np.float32)  # ONNX Runtime's Python makes no other maps
    keys = [key for key in vocabulary if d.chance(0.6)] or vocabulary[:1]
    d.set(**{field: vocabulary})
    value = {key: d.values([], kind).item() for key in keys}
    key_type = TensorProto.STRING if field[0] == "s" else TensorProto.INT64
    element = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(kind), [])
    d.add_typed(value, helper.make_map_type_proto(key_type, element))


_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


_COLUMNS = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_featureids",
    "nodes_modes",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_missing_value_tracks_true",
)


def _forest(d: Draft, features: int) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """The nodes of trees with one split and two leaves each, and the leaves' places."""
    nodes: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    leaves = []
    mode = d.pick(_MODES)
    for tree in range(d.integer(1, 4)):
        for node, kind in enumerate((mode, "LEAF", "LEAF")):
            split = kind != "LEAF"
            row: list[Any] = [tree, node, d.integer(0, features - 1) if split else 0, kind]
            row += [d.real(-1, 1) if split else 0.0, 1 if split else 0, 2 if split else 0, 0]
            for column, value in zip(nodes.values(), row, strict=True):
                column.append(value)
            if not split:
                leaves.append((tree, node))
    return nodes, leaves


def _scores(d: Draft, kind: str, leaves: list[tuple[int, int]], count: int) -> dict[str, list[Any]]:
    """What leaves score: everything in each, mostly, or one thing in each."""
    everything = d.chance(0.8)
    rows = [
        (tree, node, identifier)
        for tree, node in leaves
        for identifier in (range(count) if everything else [d.integer(0, count - 1)])
    ]
    columns = zip(*rows, strict=True)
    names = (f"{kind}_treeids", f"{kind}_nodeids", f"{kind}_ids")
    fields: dict[str, list[Any]] = {n: list(c) for n, c in zip(names, columns, strict=True)}
    return fields | {f"{kind}_weights": _reals(d, len(rows))}


@generator("TreeEnsembleRegressor", domain=ML)
def tree_regressor(d: Draft) -> None:
    features, targets = d.integer(1, 4), d.integer(1, 2)
    _rows(d, features)
    nodes, leaves = _forest(d, features)
    d.set(**nodes, n_targets=targets, **_scores(d, "target", leaves, targets))
    d.maybe(aggregate_function=d.pick(["SUM", "AVERAGE", "MIN", "MAX"]))
    d.maybe(base_values=_reals(d, targets))


@generator("TreeEnsembleClassifier", domain=ML)
def tree_classifier(d: Draft) -> None:
    features, classes = d.integer(1, 4), d.integer(3, 4)
    _rows(d, features, "T1")
    nodes, leaves = _forest(d, features)
    d.set(**nodes, classlabels_int64s=list(range(classes)), **_scores(d, "class", leaves, classes))
    d.maybe(post_transform=d.pick(_POST[:3]))
    d.outputs = 2


@generator("TreeEnsemble", domain=ML)
def tree_ensemble(d: Draft) -> None:
    """Trees of one or two splits: the second lies where the first is false."""
    features, targets = d.integer(1, 4), d.integer(1, 3)
    _rows(d, features)
    columns = ("splits", "modes", "featureids", "truenodeids", "trueleafs", "falsenodeids",
               "falseleafs", "missing_value_tracks_true")  # fmt: skip
    nodes: dict[str, list[Any]] = {name: [] for name in columns}
    roots, leaves = [], 0
    for _ in range(d.integer(1, 4)):
        roots.append(len(nodes["modes"]))
        for remaining in reversed(range(d.integer(1, 2))):
            here = len(nodes["modes"])
            other = (here + 1, 0) if remaining else (leaves + 1, 1)
            row = (d.real(-1, 1), d.integer(0, 5), d.integer(0, features - 1), leaves, 1, *other)
            for column, value in zip(nodes.values(), (*row, d.integer(0, 1)), strict=True):
                column.append(value)
            leaves += 1 if remaining else 2
    dtype = d.dtype()

    def tensor(values: list[Any], kind: Any) -> TensorProto:
        return numpy_helper.from_array(np.array(values, kind))

    real_values = {"splits": tensor(nodes.pop("splits"), dtype)}
    real_values["modes"] = tensor(nodes.pop("modes"), np.uint8)
    d.set(**{f"nodes_{name}": values for name, values in (real_values | nodes).items()})
    d.set(
        tree_roots=roots,
        n_targets=targets,
        leaf_targetids=[d.integer(0, targets - 1) for _ in range(leaves)],
        leaf_weights=tensor(_reals(d, leaves), dtype),
    )
    d.maybe(0.7, aggregate_function=d.integer(0, 3))
    d.maybe(0.3, post_transform=d.integer(0, 4))
