"""NonMaxSuppression: the best boxes of each class, without those that overlap a better one."""

from __future__ import annotations

import numpy as np
from onnx.reference.op_run import OpRun


class NonMaxSuppression(OpRun):
    """onnx's takes no scalar limits and fails where one before the last is absent."""

    def _run(
        self,
        boxes: np.ndarray,
        scores: np.ndarray,
        max_output_boxes_per_class: np.ndarray | None = None,
        iou_threshold: np.ndarray | None = None,
        score_threshold: np.ndarray | None = None,
        center_point_box: int = 0,
    ) -> tuple[np.ndarray, ...]:
        most = int(_number(max_output_boxes_per_class, 0))
        overlap = _number(iou_threshold, 0.0)
        least = None if score_threshold is None else _number(score_threshold, 0.0)
        selection = [
            (batch, label, box)
            for batch, label in np.ndindex(*scores.shape[:2])
            for box in _best(
                _corners(boxes[batch], bool(center_point_box)),
                scores[batch, label],
                most,
                overlap,
                least,
            )
        ]
        return (np.array(selection, np.int64).reshape(-1, 3),)


def _number(value: np.ndarray | None, default: float) -> float:
    return default if value is None else np.asarray(value).reshape(-1)[0].item()


def _corners(boxes: np.ndarray, centred: bool) -> np.ndarray:
    """[boxes, 2, 2]: the smaller and the larger corner of each."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if centred:
        first, second = first - second / 2, first + second / 2
    return np.stack([np.minimum(first, second), np.maximum(first, second)], 1)


def _best(
    corners: np.ndarray, scores: np.ndarray, most: int, overlap: float, least: float | None
) -> list[int]:
    areas = np.prod(corners[:, 1] - corners[:, 0], 1)
    survivors: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if len(survivors) >= most or (least is not None and scores[box] <= least):
            break
        low = np.maximum(corners[survivors, 0], corners[box, 0])
        high = np.minimum(corners[survivors, 1], corners[box, 1])
        common = np.prod(np.maximum(high - low, 0), 1)
        union = areas[survivors] + areas[box] - common
        if not np.any((union > 0) & (common > overlap * union)):
            survivors.append(int(box))
    return survivors
