"""Public shapes of models that see: decoders, detectors, transformers of pictures, diffusion."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from tests.shapes.net import FLOAT, INT64, UINT8, Net


def sam_decoder() -> ModelProto:
    n = Net(20)
    picture = n.input("image_embeddings", 1, 32, 64, 64)
    coordinates = n.input("point_coords", 1, "num_points", 2)
    labels = n.input("point_labels", 1, "num_points")
    given, has_mask = n.input("mask_input", 1, 1, 256, 256), n.input("has_mask_input", 1)
    side = n.input("orig_im_size", 2)
    points = n("Sin", n("MatMul", n("Div", coordinates, 1024.0), n.weights(2, 32)))
    is_point = n("Cast", n("Equal", n("Unsqueeze", labels, [2]), 1.0), to=FLOAT)
    points = n("Add", points, n("Mul", is_point, n.weights(32, scale=1)))
    dense = n("Conv", given, n.weights(32, 1, 4, 4), strides=[4, 4])
    picture = n("Add", picture, n("Mul", dense, has_mask))
    flat = n.flat(picture, 32, 4096)
    query = n.block(points, 32, 2, other=flat)
    masks = n(
        "MatMul",
        n.linear(n("ReduceMean", query, axes=[1]), 32, 32),
        n("Transpose", flat, perm=[0, 2, 1]),
    )
    masks = n("Reshape", masks, [1, 1, 64, 64])
    masks = n("Resize", masks, None, None, [1, 1, 1024, 1024], mode="linear")
    scale = n("Div", 1024.0, n("ReduceMax", side, keepdims=0))
    padded = n("Cast", n("Floor", n("Add", n("Mul", side, scale), 0.5)), to=INT64)
    masks = n("Slice", masks, [0, 0], padded, [2, 3])
    sizes = n("Concat", [1, 1], n("Cast", side, to=INT64), axis=0)
    n.output(n("Resize", masks, None, None, sizes, mode="linear"), "masks")
    n.output(n.linear(query, 32, 1), "iou_predictions")
    return n.model()


def _backbone(n: Net, picture: str, width: int = 16) -> str:
    x, last = picture, 3
    for out in (8, 16, width):
        x, last = n.conv(x, last, out, stride=2), out
    return x


def _boxes(n: Net, x: str, width: int, classes: int) -> tuple[str, str]:
    """Boxes [1, n, 4] and scores [1, classes, n] of a map."""
    flat = n.flat(x, width)
    places = n("Mul", n("Sigmoid", n.linear(flat, width, 2)), 600.0)
    sides = n("Mul", n("Sigmoid", n.linear(flat, width, 2)), 60.0)
    boxes = n("Concat", places, n("Add", places, sides), axis=2)
    return boxes, n("Transpose", n("Sigmoid", n.linear(flat, width, classes)), perm=[0, 2, 1])


def _kept(n: Net, boxes: str, scores: str, most: object, iou: object, least: object) -> str:
    """The boxes that are left, with their picture and class."""
    kept = n("NonMaxSuppression", boxes, scores, most, iou, least)
    places = n("Squeeze", n("Slice", kept, [2], [3], [1]), [1])
    n.output(n("Gather", boxes, places, axis=1), "boxes")
    return kept


def yolo() -> ModelProto:
    n = Net(21)
    x = _backbone(n, n.input("images", "batch", 3, "height", "width"), 32)
    boxes, scores = _boxes(n, x, 32, 80)
    n.output(n("Concat", n("Transpose", boxes, perm=[0, 2, 1]), scores, axis=1), "output0")
    return n.model()


def nms_of_yolo() -> ModelProto:
    """A graph of its own that takes the detector's output and the limits as one vector."""
    n = Net(22)
    found, config = n.input("detection", 1, 84, "boxes"), n.input("config", 3)
    boxes = n("Transpose", n("Slice", found, [0], [4], [1]), perm=[0, 2, 1])
    scores = n("Slice", found, [4], [84], [1])
    most = n("Cast", n("Slice", config, [0], [1]), to=INT64)
    iou, least = (n("Slice", config, [place], [place + 1]) for place in (1, 2))
    n.output(_kept(n, boxes, scores, most, iou, least), "selected", INT64)
    return n.model()


def tiny_yolo3() -> ModelProto:
    n = Net(23)
    picture = n.input("input_1", "unk__576", 3, "unk__577", "unk__578")
    side = n.input("image_shape", "unk__579", 2)
    boxes, scores = _boxes(n, _backbone(n, picture), 16, 20)
    whole = n("Concat", side, side, axis=1)
    boxes = n("Mul", n("Div", boxes, 600.0), n("Unsqueeze", whole, [1]))
    limits = np.array([20]), np.array([0.5], np.float32), np.array([0.6], np.float32)
    n.output(_kept(n, boxes, scores, *limits), "indices", INT64)
    return n.model()


def ssd() -> ModelProto:
    """A detector of TensorFlow's zoo: bytes of a picture of any size, resized inside."""
    n = Net(24)
    picture = n.input("inputs", None, None, None, 3, element=UINT8)
    x = n("Transpose", n("Cast", picture, to=FLOAT), perm=[0, 3, 1, 2])
    sizes = n("Concat", n("Slice", n("Shape", x), [0], [2]), [300, 300], axis=0)
    x = n("Resize", x, None, None, sizes, mode="linear")
    x = n("Sub", n("Div", x, 127.5), 1.0)
    boxes, scores = _boxes(n, _backbone(n, x), 16, 20)
    limits = np.array([100]), np.array([0.6], np.float32), np.array([0.3], np.float32)
    n.output(_kept(n, boxes, scores, *limits), "detections", INT64)
    return n.model()


def scored_nms() -> ModelProto:
    """A detector with limits as scalar inputs, sure of nothing."""
    n = Net(25)
    x = _backbone(n, n.input("image", 1, 3, 320, 320))
    most = n.input("max_output_boxes_per_class", 1, element=INT64)
    iou, least = n.input("iou_threshold", 1), n.input("score_threshold", 1)
    boxes, scores = _boxes(n, x, 16, 20)
    low = n("Mul", scores, 0.2)
    n.output(_kept(n, boxes, low, most, iou, least), "selected", INT64)
    return n.model()


def rt_detr() -> ModelProto:
    n = Net(26)
    x = _backbone(n, n.input("images", "N", 3, 640, 640), 32)
    sides = n.input("orig_target_sizes", "N", 2, element=INT64)
    flat = n.flat(n("MaxPool", x, kernel_shape=[4, 4], strides=[4, 4]), 32)
    scores = n("ReduceMax", n.linear(flat, 32, 80), axes=[2], keepdims=0)
    _, best = n("TopK", scores, [300], count=2)
    index = n("Expand", n("Unsqueeze", best, [2]), [1, 1, 32])
    queries = n.block(n("GatherElements", flat, index, axis=1), 32, 2, other=flat)
    whole = n("Unsqueeze", n("Cast", n("Concat", sides, sides, axis=1), to=FLOAT), [1])
    n.output(n("Mul", n("Sigmoid", n.linear(queries, 32, 4)), whole), "boxes")
    n.output(n("ArgMax", n.linear(queries, 32, 80), axis=2, keepdims=0), "labels", INT64)
    return n.model()


def swin() -> ModelProto:
    """Windows of a fixed number, in axes that the export left open."""
    n = Net(27)
    picture = n.input("pixel_values", "batch_size", "num_channels", "height", "width")
    x = n("Conv", picture, n.weights(32, 3, 4, 4), strides=[4, 4])
    x = n.flat(x, 32, 9216)
    x = n.norm(x, 32)
    windows = n("Reshape", x, [-1, 8, 12, 8, 12, 32])
    windows = n("Reshape", n("Transpose", windows, perm=[0, 1, 3, 2, 4, 5]), [-1, 144, 32])
    windows = n.block(windows, 32, 2)
    x = n("Reshape", windows, [-1, 9216, 32])
    n.output(n.linear(n("ReduceMean", x, axes=[1], keepdims=0), 32, 100), "logits")
    return n.model()


def depth() -> ModelProto:
    """A transformer over patches of 14, whose positions are resized to the picture."""
    n = Net(28)
    picture = n.input("pixel_values", "batch_size", 3, "height", "width")
    x = n("Conv", picture, n.weights(32, 3, 14, 14), strides=[14, 14])
    shape = n("Shape", x)
    table = n.weights(1, 32, 37, 37, scale=0.1)
    sizes = n("Concat", [1, 32], n("Slice", shape, [2], [4]), axis=0)
    x = n("Add", x, n("Resize", table, None, None, sizes, mode="cubic"))
    tokens = n.block(n.flat(x, 32), 32, 2)
    x = n("Reshape", n("Transpose", tokens, perm=[0, 2, 1]), shape)
    sizes = n(
        "Concat", n("Slice", shape, [0], [2]), n("Slice", n("Shape", picture), [2], [4]), axis=0
    )
    x = n(
        "Resize",
        n("Conv", x, n.weights(1, 32, 1, 1)),
        None,
        None,
        n("Concat", n("Slice", sizes, [0], [1]), [1], n("Slice", sizes, [2], [4]), axis=0),
        mode="linear",
    )
    n.output(n("Squeeze", x, [1]), "predicted_depth")
    return n.model()


def unet() -> ModelProto:
    n = Net(29)
    sample = n.input("sample", "batch_size", 4, "height", "width")
    step = n.input("timestep", "steps", element=INT64)
    text = n.input("encoder_hidden_states", "batch_size", "sequence_length", 64)
    angle = n("Mul", n("Unsqueeze", n("Cast", step, to=FLOAT), [1]), n.weights(1, 32, scale=1))
    time = n.linear(n("Concat", n("Sin", angle), n("Cos", angle), axis=1), 64, 32)
    x = n.conv(sample, 4, 32)
    down = n("Add", n.conv(x, 32, 32, stride=2), n("Unsqueeze", time, [2, 3]))
    shape = n("Shape", down)
    flat = n.flat(down, 32)
    flat = n.block(flat, 32, 2, other=text, inner=64)
    down = n("Reshape", n("Transpose", flat, perm=[0, 2, 1]), shape)
    up = n("Resize", down, None, np.array([1, 1, 2, 2], np.float32), mode="nearest")
    n.output(
        n("Conv", n("Concat", up, x, axis=1), n.weights(4, 64, 3, 3), pads=[1] * 4), "out_sample"
    )
    return n.model()


def clip() -> ModelProto:
    n = Net(30)
    ids = n.input("input_ids", "text_batch_size", "sequence_length", element=INT64)
    pixels = n.input("pixel_values", "image_batch_size", "num_channels", "height", "width")
    mask = n.input("attention_mask", "text_batch_size", "sequence_length", element=INT64)
    positions = n("Slice", n.weights(77, 32, scale=0.1), [0], n.size(ids, 1), [0])
    text = n.block(n("Add", n.embedding(ids, 49408, 32), positions), 32, 2, n.hidden(mask))
    last = n("ArgMax", ids, axis=1, keepdims=0)
    rows = n("Range", 0, n("Squeeze", n.size(ids, 0), [0]), 1)
    text = n(
        "GatherND", text, n("Concat", n("Unsqueeze", rows, [1]), n("Unsqueeze", last, [1]), axis=1)
    )
    x = n("Conv", pixels, n.weights(32, 3, 32, 32), strides=[32, 32])
    x = n.flat(x, 32)
    x = n("Add", x, n.weights(49, 32, scale=0.1))
    image = n("ReduceMean", n.block(x, 32, 2), axes=[1], keepdims=0)
    n.output(n("MatMul", image, n("Transpose", text, perm=[1, 0])), "logits_per_image")
    return n.model()


def matcher() -> ModelProto:
    """Points of two pictures, with their descriptors, matched with each other."""
    n = Net(32)
    sides = []
    for place in (0, 1):
        points = n.input(f"kpts{place}", 1, f"num_keypoints{place}", 2)
        sides.append(
            n(
                "Add",
                n.linear(n.input(f"desc{place}", 1, f"num_keypoints{place}", 256), 256, 32),
                n.linear(points, 2, 32),
            )
        )
    a, b = n.block(sides[0], 32, 2, other=sides[1]), n.block(sides[1], 32, 2, other=sides[0])
    scores = n("Softmax", n("MatMul", a, n("Transpose", b, perm=[0, 2, 1])), axis=2)
    n.output(n("ArgMax", scores, axis=2, keepdims=0), "matches0", INT64)
    n.output(n("ReduceMax", scores, axes=[2], keepdims=0), "mscores0")
    return n.model()
