"""Fitted estimators of scikit-learn and xgboost as .onnx files; `python -m tests.survey.fitted`.

Takes a name of `ESTIMATORS` and a path. The data are drawn, the same in every process.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

ROWS, FEATURES, CLASSES = 300, 10, 3


def _linear() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=20, random_state=0)


def _boosted_trees() -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=30, random_state=0)


def _perceptron() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((32, 16), max_iter=300, random_state=0)


def _vectors() -> Any:
    """Scaled first: a pipeline of two steps."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    return make_pipeline(StandardScaler(), SVR())


def _xgboost_classifier() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=20, max_depth=4, random_state=0)


def _xgboost_regressor() -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(n_estimators=20, max_depth=4, random_state=0)


ESTIMATORS = {
    "logistic_regression": _linear,
    "random_forest": _forest,
    "gradient_boosting": _boosted_trees,
    "perceptron": _perceptron,
    "support_vectors": _vectors,
    "xgboost_classifier": _xgboost_classifier,
    "xgboost_regressor": _xgboost_regressor,
}


def converted(name: str) -> ModelProto:
    """The estimator, fitted and converted; its batch is open."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    classes = (data[:, :CLASSES].argmax(axis=1)).astype(np.int64)
    regression = name in ("gradient_boosting", "support_vectors", "xgboost_regressor")
    estimator = ESTIMATORS[name]().fit(data, data.sum(axis=1) if regression else classes)
    if name.startswith("xgboost"):
        from onnxmltools import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType

        return convert_xgboost(estimator, initial_types=[("x", FloatTensorType([None, FEATURES]))])
    from skl2onnx import to_onnx

    # The default, a list of dictionaries of probabilities, is no tensor.
    options = {} if regression else {"zipmap": False}
    return to_onnx(estimator, data[:1], options=options, target_opset=20)


def main() -> None:
    name, path = sys.argv[1:]
    Path(path).write_bytes(converted(name).SerializeToString())


if __name__ == "__main__":
    main()
