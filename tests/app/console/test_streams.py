"""What is printed where a stream cannot encode it."""

from __future__ import annotations

import io

from app.console.streams import ResilientStream


def test_a_stream_without_our_characters_gets_them_spelt_in_ascii() -> None:
    raw = io.BytesIO()
    stream = ResilientStream(io.TextIOWrapper(raw, encoding="ascii"))
    stream.write("p50 1.3 µs ±75% · ─── “a” … ≤ \u4e2d")
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert text == 'p50 1.3 us +-75% - --- "a" ... <= \\u4e2d'


def test_a_stream_that_has_them_gets_them_as_they_are() -> None:
    raw = io.BytesIO()
    stream = ResilientStream(io.TextIOWrapper(raw, encoding="latin-1"))
    stream.write("1.3 µs ±75%")
    stream.flush()
    assert raw.getvalue().decode("latin-1") == "1.3 µs ±75%"
