"""Warnings by their kind: one sentence for many rows, with the range of its figures."""

from __future__ import annotations

from app.results.warned import Warned, joined, sentences, warned

from app.cases.column import Row


def row(case_id: str, *said: str) -> Row:
    return {"case_id": case_id, "warnings": joined(said)}


def test_a_warning_of_many_rows_is_said_once_with_the_range_of_its_figures() -> None:
    rows = [
        row("a", "no_steady_state: it moved after 3.3 s", "9.9% of the samples are slow"),
        row("b"),
        row("c", "12.5% of the samples are slow"),
        row("d", "9.9% of the samples are slow"),
    ]
    assert warned(rows) == [
        Warned("no_steady_state: it moved after 3.3 s", ("a",)),
        Warned("9.9 to 12.5% of the samples are slow", ("a", "c", "d")),
    ]


def test_a_figure_of_thousands_is_one_figure() -> None:
    rows = [row("a", "of 853.8 us, 9 late"), row("b", "of 5,853.8 us, 1,070,200 late")]
    assert [kind.sentence for kind in warned(rows)] == [
        "of 853.8 to 5,853.8 us, 9 to 1,070,200 late"
    ]


def test_what_is_quoted_is_a_name_and_makes_another_warning() -> None:
    rows = [row("a", "'x1' was drawn as 0"), row("b", "'x2' was drawn as 0")]
    assert [kind.sentence for kind in warned(rows)] == [
        "'x1' was drawn as 0",
        "'x2' was drawn as 0",
    ]


def test_digits_within_a_word_are_no_figures() -> None:
    rows = [row("a", "Conv_1 is int8 of fp32"), row("b", "Conv_1 is int8 of fp32")]
    assert [kind.sentence for kind in warned(rows)] == ["Conv_1 is int8 of fp32"]


def test_a_cell_gives_back_its_sentences_even_where_one_has_a_semicolon() -> None:
    cell = joined(["one; and more", "two", "", "two"])
    assert sentences(cell) == ["one, and more", "two"]
    assert sentences(None) == [] and joined([]) is None
