"""Sound .onnx files made unsound: what downloads, old exporters and malice do to a file.

`mutants` gives the same files for the same seed. Each has a name of its own, which may be as
hostile as its content.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto

from tests.exporters.support import model_of

HOSTILE_NAMES = (
    *("", "[bold]", "[/]", "a\rb", "a\nb", "\x1b[31mred\x1b]0;title\x07", "\u202egnp.", "n" * 5000),
    *("../../etc/passwd", "/dev/zero", "=1+1", "\0", "%s{0}$(id)"),
)
HOSTILE_SIZES = (0, -1, -(2**62), 2**31 - 1, 2**31, 2**40, 2**62)
FILE_NAMES = (
    *(b"", b"[red]", b"a[", b"\xff\xfe", b"cr\rx", b"esc\x1b[31m", b"q\"',;", b"\xe2\x80\xae"),
)

Bytes = Callable[[random.Random, bytes], bytes]
Field = Callable[[random.Random, ModelProto], None]


def mutants(folder: Path, count: int, seed: int) -> list[Path]:
    """Write so many into the folder."""
    draw = random.Random(seed)
    sound = [model.SerializeToString() for model in sound_models()]
    paths = []
    for number in range(count):
        content = draw.choice(sound)
        kind = (*BYTES, *FIELDS)[number % (len(BYTES) + len(FIELDS))]
        if kind in FIELDS:
            model = ModelProto.FromString(content)
            FIELDS[kind](draw, model)
            content = model.SerializeToString()
        else:
            content = BYTES[kind](draw, content)
        odd = draw.choice(FILE_NAMES) if draw.random() < 0.2 else b""
        path = folder / os.fsdecode(b"%03d-" % number + kind.encode() + odd + b".onnx")
        path.write_bytes(content)
        paths.append(path)
    return paths


def sound_models() -> Iterator[ModelProto]:
    """Small graphs, together with most of what a file can hold."""
    weights = {"w": np.ones((4, 3), np.float32)}
    product = "(float[batch,4] x) => (float[batch,3] y) { [product] y = MatMul(x, w) }"
    yield model_of(product, weights)
    convolution = """(float[1,2,6,6] x) => (float[1,3,6,6] y) {
        y = Conv <pads = [1, 1, 1, 1]> (x, w)
    }"""
    yield model_of(convolution, {"w": np.ones((3, 2, 3, 3), np.float32)})
    yield model_of("(int64[batch,2] x) => (float[batch,2,3] y) { y = Gather(w, x) }", weights)
    yield model_of("""(float[2,3] x) => (float[2,3] y) {
        c = Constant <value = float[1] {0}> () y = Add(x, c)
    }""")
    yield model_of("""(float[2] x, bool flag) => (float[2] y) {
        y = If (flag) <then_branch = a () => (float[2] t) { t = Neg(x) },
                       else_branch = b () => (float[2] e) { e = Abs(x) }>
    }""")
    model = model_of(product, weights)
    _lay_outside(model.graph.initializer[0], "weights.bin", "0", "48")
    yield model


def flip_bits(draw: random.Random, content: bytes) -> bytes:
    content_copy = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8, 40))):
        content_copy[draw.randrange(len(content_copy))] ^= 1 << draw.randrange(8)
    return bytes(content_copy)


def cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content))]


def move_bytes(draw: random.Random, content: bytes) -> bytes:
    """Two parts of the file change places, or one is there twice."""
    first, second, third = sorted(draw.randrange(len(content)) for _ in range(3))
    parts = content[:first], content[first:second], content[second:third], content[third:]
    order = draw.choice(((0, 2, 1, 3), (0, 1, 1, 2, 3), (0, 2, 3)))
    return b"".join(parts[part] for part in order)


def overwrite(draw: random.Random, content: bytes) -> bytes:
    """Lengths that claim more than there is, and bytes that are no message."""
    place = draw.randrange(len(content))
    claims = b"\xff" * 9 + b"\x01", b"\x7f\xff\xff\xff\x0f"
    junk = draw.choice((*claims, b"\0" * 16, draw.randbytes(12)))
    return content[:place] + junk + content[place + len(junk) :]


def change_type(draw: random.Random, model: ModelProto) -> None:
    for value in (*model.graph.input, *model.graph.output):
        if draw.random() < 0.7:
            value.type.tensor_type.elem_type = draw.randrange(40)
    for weights in model.graph.initializer:
        if draw.random() < 0.3:
            weights.data_type = draw.randrange(40)


def change_size(draw: random.Random, model: ModelProto) -> None:
    value = draw.choice([*model.graph.input, *model.graph.output])
    for dimension in value.type.tensor_type.shape.dim:
        if draw.random() < 0.6:
            dimension.dim_value = draw.choice(HOSTILE_SIZES)
    for weights in model.graph.initializer:
        if draw.random() < 0.3:
            weights.dims[:] = [draw.choice(HOSTILE_SIZES) for _ in weights.dims]


def change_name(draw: random.Random, model: ModelProto) -> None:
    name = draw.choice(HOSTILE_NAMES)
    node = draw.choice(model.graph.node)
    value = draw.choice([*model.graph.input, *model.graph.output])
    field = draw.choice(("op_type", "domain", "name", "value", "dim_param", "output"))
    if field == "value":
        value.name = name
    elif field == "dim_param":
        for dimension in value.type.tensor_type.shape.dim:
            dimension.dim_param = name
    elif field == "output":
        node.output[0] = name
    else:
        setattr(node, field, name)


def swap_fields(draw: random.Random, model: ModelProto) -> None:
    """Inputs for outputs, a node for another's, a graph for a tensor."""
    node = draw.choice(model.graph.node)
    match draw.randrange(4):
        case 0:
            node.input[:], node.output[:] = list(node.output), list(node.input)
        case 1:
            for attribute in node.attribute:
                attribute.type = draw.choice(AttributeProto.AttributeType.values())
        case 2:
            model.graph.node.append(node)
        case _:
            model.opset_import[0].version = draw.choice(HOSTILE_SIZES)
            model.ir_version = draw.choice(HOSTILE_SIZES)


def lay_outside(draw: random.Random, model: ModelProto) -> None:
    """Weights in a file that is not there, not ours, or not as long as is claimed."""
    numbers = ("0", "-1", "text", str(2**70), "")
    for weights in model.graph.initializer:
        name = draw.choice((*HOSTILE_NAMES, ".", "weights.bin"))
        _lay_outside(weights, name, draw.choice(numbers), draw.choice(numbers))


def _lay_outside(weights: TensorProto, location: str, offset: str, length: str) -> None:
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    del weights.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        weights.external_data.add(key=key, value=value)


BYTES: dict[str, Bytes] = {
    "flip": flip_bits,
    "cut": cut,
    "move": move_bytes,
    "overwrite": overwrite,
}
FIELDS: dict[str, Field] = {
    "type": change_type,
    "size": change_size,
    "name": change_name,
    "swap": swap_fields,
    "outside": lay_outside,
}
