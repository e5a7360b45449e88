"""Files whose inputs or outputs are no plain arrays of numbers: texts, sequences, maps, options."""

from __future__ import annotations

from functools import partial

import numpy as np
from onnx import ModelProto, TensorProto, helper

from tests.files.kinds import (
    FLOAT,
    LEARNED,
    constant,
    draw,
    model,
    node,
    one,
    value,
    written,
)

_LEARNED_OPSETS = [(LEARNED, 3)]


def _encoder_model() -> ModelProto:
    """Text to a number, by a table of the graph's own."""
    text = """(string[batch,1] city) => (int64[batch,1] y) {
        y = ai.onnx.ml.LabelEncoder <keys_strings = ["Berlin", "Lima", "Oslo"],
            values_int64s = [0, 1, 2], default_int64 = -1> (city)
    }"""
    return written(text, 17, 8, _LEARNED_OPSETS)


def _decoder_model() -> ModelProto:
    """A number to text."""
    text = """(float[batch,3] x) => (string[batch] y) {
        i = ArgMax <axis = 1, keepdims = 0> (x)
        y = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1, 2],
            values_strings = ["red", "green", "blue"]> (i)
    }"""
    return written(text, 17, 8, _LEARNED_OPSETS)


def pipeline(labels: str = "strings", zipped: bool = True) -> ModelProto:
    """As skl2onnx writes a pipeline: a column of text and one of numbers, encoded and scaled, a
    linear classifier, and a map of its probabilities for each row."""
    is_text = labels == "strings"
    kind, names = ("string", '["no", "yes"]') if is_text else ("int64", "[0, 1]")
    keys = "strings" if is_text else "int64s"
    last = f"seq(map({kind}, float)) probabilities" if zipped else "float[batch,2] scores"
    zipping = f"probabilities = ai.onnx.ml.ZipMap <classlabels_{keys} = {names}> (scores)"
    text = f"""(string[batch,1] city, float[batch,1] age) => ({kind}[batch] label, {last}) {{
        hot = ai.onnx.ml.OneHotEncoder <cats_strings = ["Berlin", "Lima", "Oslo"], zeros = 1> (city)
        wide = Reshape(hot, flat) scaled = ai.onnx.ml.Scaler <offset = [40.0], scale = [0.1]> (age)
        features = Concat <axis = 1> (wide, scaled)
        label, scores = ai.onnx.ml.LinearClassifier
            <coefficients = [0.3, -0.2, 0.5, 0.7, -0.3, 0.2, -0.5, -0.7], intercepts = [0.1, -0.1],
            post_transform = "SOFTMAX", multi_class = 1,
            classlabels_{"strings" if is_text else "ints"} = {names}> (features)
        {zipping if zipped else ""}
    }}"""
    return written(text, 17, 8, _LEARNED_OPSETS, flat=np.array([-1, 3]))


def _words(opset: int = 20) -> ModelProto:
    text = """(string[6] x) => (float[3] y) {
        l = StringNormalizer <case_change_action = "LOWER", locale = "C", stopwords = ["the"]> (x)
        y = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 1,
            max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1, 2],
            pool_strings = ["cat", "dog", "fish"]> (l)
    }"""
    return written(text, opset, 9)


def _join_model() -> ModelProto:
    return written("(string[n] a, string[n] b) => (string[n] y) { y = StringConcat(a, b) }", 20, 9)


def _split() -> ModelProto:
    text = """(string[batch] x) => (string[batch,?] y, int64[batch] n) {
        y, n = StringSplit <delimiter = " ", maxsplit = 3> (x)
    }"""
    return written(text, 20, 9)


def _match_model() -> ModelProto:
    text = '(string[n] x) => (bool[n] y) { y = RegexFullMatch <pattern = "[a-z]+"> (x) }'
    return written(text, 20, 9)


def _compare_model() -> ModelProto:
    text = "(string[n] x) => (bool[n] y) { y = Equal(x, c) }"
    return written(text, 19, 9, c=np.array(["yes"], object))


def _pass_model() -> ModelProto:
    return written("(string[n] x) => (string[n] y) { y = Identity(x) }")


def _sequence(element: str = "float") -> ModelProto:
    """A sequence of tensors as the only output."""
    return written(f"""({element}[batch,3] x) => (seq({element}[]) y) {{
        y = SplitToSequence <axis = 1, keepdims = 1> (x)
    }}""")


def _construct_model() -> ModelProto:
    """A sequence of tensors of different shapes beside a plain output."""
    text = """(float[batch,8] x) => (seq(float[]) y, float[batch,4] z) {
        a = MatMul(x, w)
        y = SequenceConstruct(a, x)
        z = Relu(a)
    }"""
    return written(text, w=draw(8, 4))


def _empty_model() -> ModelProto:
    text = "(float[4] x) => (seq(float[]) y, float[4] z) { y = SequenceEmpty() z = Relu(x) }"
    return written(text)


def _take_model() -> ModelProto:
    """A sequence of tensors as an input."""
    text = "(seq(float[batch,4]) x) => (float[?,4] y) { y = ConcatFromSequence <axis = 0> (x) }"
    return written(text)


def _option(full: bool = True) -> ModelProto:
    """An optional output, with a tensor in it or without."""
    if full:
        text = "(float[4] x) => (optional(float[4]) y) { r = Relu(x) y = Optional(r) }"
        return written(text, 18)
    text = "(float[4] x) => (optional(float[4]) y, float[4] z) { y = Optional() z = Relu(x) }"
    proto, kind = written(text, 18), helper.make_tensor_type_proto(FLOAT, [4])
    proto.graph.node[0].attribute.append(helper.make_attribute("type", kind))
    return proto


def _optional_input() -> ModelProto:
    return written(
        """(optional(float[4]) x) => (float[4] y) {
        t = OptionalGetElement(x)
        y = Relu(t)
    }""",
        18,
    )


def _map_model() -> ModelProto:
    """A map as an input, as dictionary vectorisers take it."""
    return written(
        """(map(string, float) x) => (float[1,2] y) {
        y = ai.onnx.ml.DictVectorizer <string_vocabulary = ["age", "height"]> (x)
    }""",
        17,
        8,
        _LEARNED_OPSETS,
    )


def _ends(element: int) -> ModelProto:
    """Data of this type at both ends of the graph."""
    nodes = [
        node("Cast", ["x"], ["f"], to=FLOAT),
        node("Mul", ["f", "two"], ["g"]),
        node("Cast", ["g"], ["y"], to=element),
    ]
    ends = [value("x", element, ["batch", 8])], [value("y", element, ["batch", 8])]
    is_recent = element in (TensorProto.INT2, TensorProto.UINT2)
    opset, ir = (25, 13) if is_recent else (21, 10)
    return model(nodes, *ends, [constant("two", np.array(2.0, np.float32))], opset, ir)


_TYPES = {
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "bfloat16": TensorProto.BFLOAT16,
    "float8": TensorProto.FLOAT8E4M3FN,
    "float8-wide": TensorProto.FLOAT8E5M2,
    "float8-unsigned-zero": TensorProto.FLOAT8E4M3FNUZ,
    "float8-wide-unsigned-zero": TensorProto.FLOAT8E5M2FNUZ,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint32": TensorProto.UINT32,
    "bool": TensorProto.BOOL,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
    "int2": TensorProto.INT2,
    "uint2": TensorProto.UINT2,
}

KINDS = (
    one("texts", "text-encoded", _encoder_model),
    one("texts", "text-decoded", _decoder_model),
    one("texts", "text-words", _words),
    one("texts", "text-joined", _join_model),
    one("texts", "text-split", _split),
    one("texts", "text-matched", _match_model),
    one("texts", "text-compared", _compare_model),
    one("texts", "text-passed", _pass_model),
    one("texts", "pipeline-plain", partial(pipeline, zipped=False)),
    one("sequences, maps, options", "pipeline-zipped", pipeline),
    one("sequences, maps, options", "pipeline-zipped-numbers", partial(pipeline, "numbers")),
    one("sequences, maps, options", "sequence-output", _sequence),
    one("sequences, maps, options", "sequence-of-texts", partial(_sequence, "string")),
    one("sequences, maps, options", "sequence-of-two-shapes", _construct_model),
    one("sequences, maps, options", "sequence-empty", _empty_model),
    one("sequences, maps, options", "sequence-input", _take_model),
    one("sequences, maps, options", "option-full", _option),
    one("sequences, maps, options", "option-empty", partial(_option, full=False)),
    one("sequences, maps, options", "option-input", _optional_input),
    one("sequences, maps, options", "map-input", _map_model),
    *(one("types at the ends", f"ends-{name}", partial(_ends, e)) for name, e in _TYPES.items()),
)
