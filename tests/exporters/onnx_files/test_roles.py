"""Each kind of value that decides what a graph computes is what a user's program gives there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from exporters.inputs import seeded_inputs
from exporters.onnx_files.model_io import inspect

AXES = {"batch": 1, "b2": 3, "time": 20, "frames": 12, "nodes": 30, "edges": 50, "h": 16, "w": 16}


def _drawn(path: Path, text: str) -> dict[str, np.ndarray]:
    """What is drawn for a model of ONNX's text, once ONNX Runtime has run it."""
    model = parser.parse_model(text)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    face = inspect(path)
    arrays = seeded_inputs(face.inputs, {axis: AXES[axis] for axis in face.axes}, seed=3)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, arrays)
    return arrays


CONSTANTS = (
    "zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () "
    + " ".join(f"c{n} = Constant <value = int64[1] {{{n}}}> ()" for n in range(4))
)


def _model(inputs: str, nodes: str, outputs: str = "float[] y", functions: str = "") -> str:
    """The nodes may read `zero`, `one` and, as vectors of one number, `c0` to `c3`."""
    opsets = '"" : 17, "own" : 1, "com.microsoft" : 1'
    head = f"<ir_version: 9, opset_import: [{opsets}]>"
    return f"{head} g ({inputs}) => ({outputs}) {{ {CONSTANTS} {nodes} }} {functions}"


COUNT = "s = Shape(x) t = Gather(s, one) r = Range(zero, t, one)"
PARTS = " ".join(f"p{n} = Slice(n, c{n}, c{n + 1})" for n in range(3))
VALUES: dict[str, tuple[str, str, list[float]]] = {
    # Lengths: the whole of their axes.
    "of a recurrence": (
        "float[frames,batch,4] x, float[1,8,4] w, float[1,8,2] r, int32[batch] n",
        "y = LSTM <hidden_size = 2> (x, w, r, , n)",
        [12],
    ),
    "of a reversed sequence": (
        "float[7,batch,4] x, int64[batch] n",
        "y = ReverseSequence <time_axis = 0, batch_axis = 1> (x, n)",
        [7],
    ),
    "compared with positions": (
        "float[batch,time] x, int64[batch] n",
        f"{COUNT} m = Unsqueeze(n, c1) near = Less(r, m) f = Cast <to = 1> (near) y = Mul(x, f)",
        [20],
    ),
    "of which the last step is taken": (
        "float[batch,time,4] x, int64 n",
        "last = Sub(n, one) y = Gather <axis = 1> (x, last)",
        [20],
    ),
    "in a branch": (
        "float[frames,batch,4] x, float[1,8,4] w, float[1,8,2] r, int32[batch] n, bool go",
        """y = If (go) <
            then_branch = t () => (float[] a) { a = LSTM <hidden_size = 2> (x, w, r, , n) },
            else_branch = e () => (float[] b) { b = LSTM <hidden_size = 2> (x, w, r) }
        >""",
        [12],
    ),
    "by name": (
        "float[batch,time,4] feats, int64[batch] feats_lengths",
        "f = Cast <to = 1> (feats_lengths) y = Mul(feats, f)",
        [20],
    ),
    "by the name of one of several": (
        "float[2,batch,4] x, float[batch,4,frames] y0, int64[batch,time] targets, "
        "int64[batch] target_length",
        "f = Cast <to = 1> (target_length) y = Mul(f, f)",
        [20],
    ),
    # As a network that takes every second frame counts its own.
    "computed with": (
        "float[batch,time] x, int64[batch] n",
        f"""{COUNT} two = Add(one, one) a = Add(n, one) h = Div(a, two) u = Unsqueeze(h, c1)
        near = Less(r, u) f = Cast <to = 1> (near) y = Mul(x, f)""",
        [20],
    ),
    "positions that meet positions": (
        "float[batch,time] x, int64[time] n",
        f"""{COUNT} u = Unsqueeze(n, c1) near = LessOrEqual(r, u)
        f = Cast <to = 1> (near) y = MatMul(x, f)""",
        [*range(20)],
    ),
    "an index of an open axis": (
        "float[batch,time,4] x, int64[batch] seq_len",
        "y = Gather <axis = 1> (x, seq_len)",
        [19],
    ),
    "an index of a fixed axis": (
        "float[batch,9,4] x, int64[batch] seq_len",
        "y = Gather <axis = 1> (x, seq_len)",
        [8],
    ),
    "limits in one vector": (
        "float[1,400,4] boxes, float[1,4,400] scores, float[3] n",
        f"""{PARTS} most = Cast <to = 7> (p0)
        s = NonMaxSuppression(boxes, scores, most, p1, p2) y = Cast <to = 1> (s)""",
        [100, 0.5, 0.25],
    ),
    "offsets of parts": (
        "float[frames,2] x, int64[5] n",
        """all = Shape(n) next = Slice(n, c1, all) begin = Gather(n, c2) end = Gather(next, c2)
        y = Slice(x, begin, end)""",
        [0, 1, 2, 3, 4],
    ),
    "of a cache": (
        "float[2,4,time,8] att_cache, int64 required_cache_size",
        "f = Cast <to = 1> (required_cache_size) y = Mul(att_cache, f)",
        [20],
    ),
    # Sizes and limits: usual ones.
    "of a picture, as floats": (
        "float[1,8,h,w] x, float[2] n",
        """ends = Constant <value = int64[2] {1, 8}> () s = Cast <to = 7> (n)
        sizes = Concat <axis = 0> (ends, s) y = Resize <mode = "linear"> (x, , , sizes)""",
        [224, 224],
    ),
    "divided on the way": (
        "float[1,8,h,w] x, int64 n",
        """c = Constant <value = int64 {8}> () e = Div(n, c) u = Unsqueeze(e, c0)
        ends = Constant <value = int64[2] {1, 8}> () sizes = Concat <axis = 0> (ends, u, u)
        y = Resize <mode = "linear"> (x, , , sizes)""",
        [1792],
    ),
    "of a whole shape of a picture": (
        "float[1,8,h,w] x, int64[4] n",
        'y = Resize <mode = "linear"> (x, , , n)',
        [1, 8, 224, 224],
    ),
    "scales": (
        "float[1,8,h,w] x, float[4] n",
        'y = Resize <mode = "nearest"> (x, , n)',
        [1, 1, 2, 2],
    ),
    "of a range": ("int64 n", "r = Range(zero, n, one) y = Cast <to = 1> (r)", [128]),
    "of what is filled": ("int64[1] n", "y = ConstantOfShape(n)", [128]),
    "of what is expanded": ("float[time,1] x, int64[2] n", "y = Expand(x, n)", [20, 128]),
    "of a part": ("float[batch,time] x, int64[1] n", "y = Slice(x, c0, n, c1)", [20]),
    "a target": ("float[2,6,4] x, int64[2] n", "y = Reshape <allowzero = 0> (x, n)", [0, -1]),
    "one of a target's sizes": (
        "float[2,6,4] x, int64[1] n",
        """c = Constant <value = int64[1] {8}> () s = Concat <axis = 0> (n, c)
        y = Reshape(x, s)""",
        [6],
    ),
    "how often it is repeated": ("float[batch,4] x, int64[2] n", "y = Tile(x, n)", [1, 2]),
    "trips, in a function": ("int64 n, float[3] x", "y = own.again(n, x)", [128]),
    "a depth": (
        "int64[batch] x, int64 n",
        """v = Constant <value = float[2] {0.0, 1.0}> () d = Identity(n) y = OneHot(x, d, v)""",
        [128],
    ),
    "of a detector": (
        "float[1,400,4] boxes, float[1,4,400] scores, int64[1] n",
        "s = NonMaxSuppression(boxes, scores, n) y = Cast <to = 1> (s)",
        [100],
    ),
    "no more than there are": ("float[batch,8] x, int64[1] n", "y, i = TopK(x, n)", [8]),
    "no more than there are at run time": (
        "float[batch,frames] x, int64[1] n",
        "y, i = TopK(x, n)",
        [12],
    ),
    "a constant that it is compared with": (
        "float[batch,4] x, int64 n",
        """c = Constant <value = int64 {16000}> () is16 = Equal(n, c)
        y = If (is16) <
            then_branch = t () => (float[] a) { a = Relu(x) },
            else_branch = e () => (float[] b) { b = Neg(x) }
        >""",
        [16000],
    ),
}
AGAIN = """<opset_import: ["" : 17], domain: "own"> again (trips, x) => (y) {
    go = Constant <value = bool {1}> ()
    y = Loop <body = b (int64 i, bool c, float[3] state) => (bool on, float[3] next) {
        on = Identity(c) next = Neg(state)
    }> (trips, go, x)
}"""


@pytest.mark.parametrize("kind", VALUES)
def test_a_number_that_decides_what_is_computed_is_a_usual_one(kind: str, tmp_path: Path) -> None:
    inputs, nodes, expected = VALUES[kind]
    functions = AGAIN if "own." in nodes else ""
    arrays = _drawn(tmp_path / "m.onnx", _model(inputs, nodes, functions=functions))
    name = "n" if "n" in arrays else inputs.split()[-1]
    assert arrays[name].ravel().tolist() == expected
    (spec,) = (spec for spec in inspect(tmp_path / "m.onnx").inputs if spec.name == name)
    assert spec.assumed or spec.count_up, "the row says that nobody gave it"


INDICES = {
    "of an open axis": ("float[nodes,4] x, int64[edges] n", "y = Gather(x, n)", 30),
    "of an order": ("float[b2,2,8] past, int32[b2] n", "y = Gather <axis = 0> (past, n)", 3),
    "of a computed table": (
        "float[nodes,4] x, float[4,6] w, int64[2,edges] n",
        """h = MatMul(x, w) src = Gather <axis = 0> (n, zero) y = Gather <axis = 0> (h, src)""",
        30,
    ),
    "through a function": ("float[nodes,4] x, int64[edges] n", "y = own.pick(x, n)", 30),
    "in tuples": ("float[nodes,4] x, int64[edges,1] n", "y = GatherND(x, n)", 30),
    "where to add": (
        "float[nodes,4] x, int64[edges,1] n, float[edges,4] u",
        'y = ScatterND <reduction = "add"> (x, n, u)',
        30,
    ),
}
PICK = """<opset_import: ["" : 17], domain: "own"> pick (x, n) => (y) { y = Gather(x, n) }"""


def test_data_is_no_choice_and_no_length(tmp_path: Path) -> None:
    nodes = f"""{COUNT} is0 = Equal(n, zero) f = Cast <to = 1> (is0) a = Mul(x, f)
        near = Less(r, n) g = Cast <to = 1> (near) y = Mul(a, g)"""
    arrays = _drawn(tmp_path / "m.onnx", _model("float[batch,time] x, int64[batch,time] n", nodes))
    assert len(np.unique(arrays["n"])) > 1


@pytest.mark.parametrize("kind", INDICES)
def test_indices_are_spread_over_what_they_index(kind: str, tmp_path: Path) -> None:
    inputs, nodes, size = INDICES[kind]
    functions = PICK if "own." in nodes else ""
    index = _drawn(tmp_path / "m.onnx", _model(inputs, nodes, functions=functions))["n"]
    assert index.min() >= 0 and index.max() < size
    assert len(np.unique(index)) > size / 2 and (size > 3 or len(np.unique(index)) == size)


LOW = "low = Constant <value = float {-1e9}> ()"
MASKS = {
    "that hides where it holds": (f"{LOW} y = Where(m, low, x)", False),
    "that keeps where it holds": (f"{LOW} y = Where(m, x, low)", True),
    "turned round": (f"{LOW} t = Not(m) y = Where(t, x, low)", False),
    "turned round, as a number compared with 0": (
        f"""{LOW} nil = Constant <value = float {{0}}> () t = Not(m) f = Cast <to = 1> (t)
        e = Equal(f, nil) y = Where(e, x, low)""",
        True,
    ),
    "turned round, as a number times a large one": (
        """far = Constant <value = float {-10000}> () t = Not(m) f = Cast <to = 1> (t)
        a = Mul(f, far) y = Add(x, a)""",
        True,
    ),
    "of two": (f"{LOW} c = Greater(x, low) a = And(m, c) y = Where(a, x, low)", True),
    "to which minus infinity is added": (
        """low = Constant <value = float {-inf}> () nil = Constant <value = float {0}> ()
        later = Constant <value = float[2,1] {0, -inf}> ()
        p = Where(m, low, nil) a = Add(later, p) y = Add(x, a)""",
        False,
    ),
    "of numbers that is turned round": (
        """full = Constant <value = float {1}> () f = Cast <to = 1> (m) d = Sub(full, f)
        far = Constant <value = float {-10000}> () a = Mul(d, far) y = Add(x, a)""",
        1,
    ),
    "of numbers compared with 0": (f"{LOW} p = Equal(m, zero) y = Where(p, low, x)", 1),
    "of numbers and another": (
        f"{LOW} c = Greater(x, low) b = Cast <to = 9> (m) a = And(c, b) y = Where(a, x, low)",
        1,
    ),
}


@pytest.mark.parametrize("kind", MASKS)
def test_a_mask_hides_nothing(kind: str, tmp_path: Path) -> None:
    nodes, expected = MASKS[kind]
    element = "bool" if isinstance(expected, bool) else "int64"
    text = _model(f"float[batch,time] x, {element}[batch,time] m", nodes)
    assert (_drawn(tmp_path / "m.onnx", text)["m"] == expected).all()


def test_a_mask_of_bfloat16_hides_nothing(tmp_path: Path) -> None:
    """The bits are those of -1e9; ONNX Runtime's CPU provider has no such operator."""
    nodes = """low = Constant <value = bfloat16 {52846}> () b = Cast <to = 16> (x)
        w = Where(m, low, b) y = Cast <to = 1> (w)"""
    text = _model("float[batch,time] x, bool[batch,time] m", nodes)
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    face = inspect(tmp_path / "m.onnx")
    assert not seeded_inputs(face.inputs, AXES, seed=3)["m"].any()


def test_divisors_are_never_0_and_pictures_use_all_of_their_range(tmp_path: Path) -> None:
    text = _model(
        "int64[batch,time] x, int64[1] n, uint8[1,h,w,3] p",
        "q = Div(x, n) a = Cast <to = 1> (q) b = Cast <to = 1> (p) s = Size(b) "
        "t = Cast <to = 1> (s) y = Mul(a, t)",
    )
    arrays = _drawn(tmp_path / "m.onnx", text)
    assert arrays["n"].min() > 0
    assert arrays["p"].min() < 20 and arrays["p"].max() > 235


NAMED = {
    "score_threshold": ("float[1]", 0.25),
    "iou_threshold": ("float[1]", 0.5),
    "temperature": ("float", 1.0),
    "orig_im_size": ("float[2]", 224),
    "max_detections": ("int64", 100),
    "num_beams": ("int64", 4),
    "sampling_rate": ("int64", 16_000),
    "x_lengths": ("int64[batch]", 20),
    "xLengths": ("int64[batch]", 20),
    "processed_lens": ("int64[1]", 20),
    "scales": ("float[3]", 1.0),
    "image_shape": ("float[2]", 224),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_name_speaks_where_the_graph_does_not(name: str, tmp_path: Path) -> None:
    kind, expected = NAMED[name]
    text = _model(
        f"float[batch,time] x, {kind} {name}",
        f"f = Cast <to = 1> ({name}) y = own.out(x, f)",
        functions="""<opset_import: ["" : 17], domain: "own"> out (x, f) => (y) {
            s = ReduceSum <keepdims = 0> (f) y = Mul(x, s) }""",
    )
    assert (_drawn(tmp_path / "m.onnx", text)[name] == expected).all()


@pytest.mark.parametrize("name", ["lifetime_value", "seniority", "wavelength", "conference"])
def test_a_word_within_a_word_says_nothing(name: str, tmp_path: Path) -> None:
    text = _model(
        f"float[batch,time] x, int64[batch] {name}", f"f = Cast <to = 1> ({name}) y = Mul(x, f)"
    )
    _drawn(tmp_path / "m.onnx", text)
    (spec,) = (spec for spec in inspect(tmp_path / "m.onnx").inputs if spec.name == name)
    assert not spec.assumed and not spec.fill
