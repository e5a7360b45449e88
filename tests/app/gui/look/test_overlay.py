"""Names that have too little room."""

from __future__ import annotations

from itertools import product

from app.gui.look.text import shorter

FORTY = [
    f"{model} · {runtime} · {threads} · batch {batch}{remark}"
    for model, runtime, batch, (threads, remark) in product(
        ("cnn_tiny", "mlp"),
        ("ort-cpu", "openvino-cpu"),
        (1, 2, 4, 8, 16),
        (("1 thread", ""), ("2 threads", " (doubted)")),
    )
]


def test_names_stay_apart_and_within_their_room() -> None:
    for room in (60, 45, 38, 34, 31, 28, 26):
        short_names = shorter(FORTY, room, len)
        assert len(set(short_names)) == len(FORTY)
        assert max(map(len, short_names)) <= room
    names = [f"ort-cpu {precision} paced closed loop" for precision in ("fp32", "fp16", "int8")]
    brief = shorter(names, 14.0, len)
    assert len(set(brief)) == 3, "they differ in their middle, which is not cut"
    assert brief[2].endswith("int8")
