"""Fitted estimators of scikit-learn and xgboost as .onnx files; `python -m tests.survey.fitted`.

Takes a name of `ESTIMATORS` and a path. The data are drawn, the same in every process.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

ROWS, FEATURES, CLASSES = 300, 10, 3
Steps = Mapping[str, Mapping[str, Any]]
"""Of a pipeline in their order: the class and what it is made with."""

SCALED: Steps = {"sklearn.preprocessing.StandardScaler": {}}
ESTIMATORS: Mapping[str, Steps] = {
    "logistic_regression": {"sklearn.linear_model.LogisticRegression": {"max_iter": 500}},
    "random_forest": {
        "sklearn.ensemble.RandomForestClassifier": {"n_estimators": 20, "random_state": 0}
    },
    "gradient_boosting": {
        "sklearn.ensemble.GradientBoostingRegressor": {"n_estimators": 30, "random_state": 0}
    },
    "perceptron": {
        "sklearn.neural_network.MLPClassifier": {
            "hidden_layer_sizes": (32, 16),
            "max_iter": 300,
            "random_state": 0,
        }
    },
    "support_vectors": {**SCALED, "sklearn.svm.SVR": {}},
    "xgboost_classifier": {
        "xgboost.XGBClassifier": {"n_estimators": 20, "max_depth": 4, "random_state": 0}
    },
    "xgboost_regressor": {
        "xgboost.XGBRegressor": {"n_estimators": 20, "max_depth": 4, "random_state": 0}
    },
}
_REGRESSORS = ("Regressor", "SVR", "Ridge")


def fit(steps: Steps, rows: int = ROWS) -> tuple[Any, np.ndarray, bool]:
    """The steps fitted to drawn numbers, these numbers, and whether they regress."""
    classes = []
    for name, settings in steps.items():
        module, _, kind = name.rpartition(".")
        classes.append(getattr(import_module(module), kind)(**settings))
    if len(classes) > 1:
        classes = [import_module("sklearn.pipeline").make_pipeline(*classes)]
    data = np.random.default_rng(0).normal(size=(rows, FEATURES)).astype(np.float32)
    regresses = list(steps)[-1].endswith(_REGRESSORS)
    target = data.sum(axis=1) if regresses else data[:, :CLASSES].argmax(axis=1)
    return classes[0].fit(data, target), data, regresses


def converted(name: str) -> ModelProto:
    """The estimator, fitted and converted; its batch is open."""
    estimator, data, regresses = fit(ESTIMATORS[name])
    if name.startswith("xgboost"):
        from onnxmltools import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType

        return convert_xgboost(estimator, initial_types=[("x", FloatTensorType([None, FEATURES]))])
    from skl2onnx import to_onnx

    # The default, a list of dictionaries of probabilities, is no tensor.
    options = {} if regresses else {"zipmap": False}
    return to_onnx(estimator, data[:1], options=options, target_opset=20)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(converted(sys.argv[1]).SerializeToString())
