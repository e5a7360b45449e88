"""What engines say, without what only those who build them need."""

from __future__ import annotations

import pytest

from exporters.types import first_line

PLACE = "/onnxruntime_src/onnxruntime/core"


@pytest.mark.parametrize(
    ("raised", "left"),
    [
        (
            f"[ONNXRuntimeError] : 1 : FAIL : Load model from a.onnx failed:{PLACE}/model.cc:256 "
            "onnxruntime::Model::Model(onnx::ModelProto&&, const Logger&) Unsupported version: 99",
            "Unsupported version: 99",
        ),
        (
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while "
            f"running Reshape node. Name:'r' Status Message: {PLACE}/reshape_helper.h:47 "
            "onnxruntime::Reshape::Reshape(const Shape&, bool) a.size() == size was false. "
            "The tensor cannot be reshaped. Input shape:{2,3}",
            "The tensor cannot be reshaped. Input shape:{2,3}",
        ),
        (
            f"Exception during initialization: {PLACE}/utils.cc:266 onnxruntime::Status "
            "onnxruntime::Save(const Env&, const std::function<Status(int, const Value&)>&) const "
            "names.Max() > -1 was false. No indexes (0 of 3)",
            "Exception during initialization: No indexes (0 of 3)",
        ),
        (
            f"{PLACE}/string.cc:235 onnxruntime::Text::Locale(const std::string&)::<lambda()> "
            "Failed to construct it",
            "Failed to construct it",
        ),
        (f"{PLACE}/x.cc:1 std::C<T, void> onnxruntime::C(T) [with T = int] failure 1", "failure 1"),
        ("D:\\a\\core\\graph.cc:12 bad value (3 of 4)", "bad value (3 of 4)"),
        (
            "Check 'a > b' failed at src/op/concat.cpp:12:\nsizes differ",
            "Check 'a > b' sizes differ",
        ),
        ("ratio 3.4: see model.h5 (1 of 2)", "ratio 3.4: see model.h5 (1 of 2)"),
    ],
)
def test_an_engines_sentence_is_left_of_what_it_raises(raised: str, left: str) -> None:
    assert first_line(RuntimeError(raised)) == left
