"""What crosses on pipes: messages come out as they went in, however they were cut on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.remote.contract import BLOCK_BYTES, Block, CarrierError, Ended, Lost, Message, Said
from app.remote.wire import Frames, message_frame, message_read

MESSAGES = st.one_of(
    st.builds(Said, st.text(max_size=30)),
    st.builds(Block, st.integers(0, 2**60), st.binary(min_size=1, max_size=60)),
    st.builds(Ended, st.text(max_size=10)),
    st.builds(Lost, st.text(max_size=10)),
)
NOISE = st.sampled_from([b"", b"Welcome to board1\n", b"[1, 2]\n", b"\xff\xfe\n", b"\n\n"])


@given(st.lists(st.tuples(NOISE, MESSAGES), max_size=8), st.data())
def test_messages_are_whole_however_they_were_cut(
    told: list[tuple[bytes, Message]], data: st.DataObject
) -> None:
    stream = b"".join(noise + b"".join(message_frame("a", message)) for noise, message in told)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20).map(sorted))
    frames = Frames()
    messages: list[Message] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        messages += [
            message_read(values, block) for values, block in frames.take(stream[start:end])
        ]
    assert messages == [message for _, message in told]


@pytest.mark.parametrize("size", [BLOCK_BYTES + 1, -1, True, 1.5, "9"])
def test_a_block_of_no_possible_size_is_refused(size: Any) -> None:
    word = f'"{size}"' if isinstance(size, str) else str(size).lower()
    with pytest.raises(CarrierError, match="larger than one may be"):
        list(Frames().take(b'{"of": "a", "offset": 0, "bytes": %s}\n' % word.encode()))


def test_what_a_host_says_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A login shell may print anything, and is not to fill the memory of this machine."""
    monkeypatch.setattr("app.remote.wire.LONGEST_LINE_BYTES", 1000)
    frames = Frames()
    assert list(frames.take(b"x" * 1000)) == []
    assert list(frames.take(b"\n" + b"x" * 900)) == []
    with pytest.raises(CarrierError, match="a line is longer than one may be"):
        list(frames.take(b"x" * 900))
