"""The filter of the results table: `model:lstm p99>5 option=3`, and plain words as ever.

A row must fulfil every term. A term is a word, which some searched column holds, or a column, an
operator and a value; both may be quoted, and `*` stands for anything.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.run_folder.diagnostics import codes_in

Value = str | float | None

_TERM = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_TERM_PATTERN = re.compile(r'(?P<key>[^\s":<>=!]+)(?P<operator>>=|<=|!=|[:=<>])(?P<value>.+)')
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SHORT = {
    "batch": "batch_size",
    "sequence": "sequence_length",
    "p50": "latency_p50_us",
    "p90": "latency_p90_us",
    "p99": "latency_p99_us",
    "p99.9": "latency_p999_us",
    "mean": "latency_mean_us",
    "throughput": "throughput_per_s",
    "gap": "gap_us",
    "rate": "offered_rate_hz",
    "device": "device_name",
    "code": "warning_codes",
}
"""What is typed for columns with longer names; any other name of a column stands for itself."""
_CODES = frozenset({"warning_codes"})
"""Columns of codes: `code:outliers` is a row with this code, and not with a longer one."""


@dataclass(frozen=True, slots=True)
class Term:
    """`key` is a column's, or "" for a word that may stand in any that is searched."""

    key: str
    sign: str
    value: str

    def fits(self, cell_value: Value) -> bool:
        """Whether a row with this value in the column is wanted; an empty cell only by `!=`."""
        if cell_value is None:
            return self.sign == "!="
        if self.key in _CODES:
            has_code = any(_is(code, self.value) for code in codes_in(cell_value))
            return has_code != (self.sign == "!=")
        number = _number(self.value)
        if self.sign in _ORDERS:
            own_number = _number(str(cell_value))
            return (
                own_number is not None
                and number is not None
                and _ORDERS[self.sign](own_number, number)
            )
        if self.sign == ":":
            return _holds(_format_value(cell_value), self.value)
        same = (
            _number(str(cell_value)) == number
            if number is not None
            else _is(cell_value, self.value)
        )
        return same == (self.sign == "=")

    def stands_in(self, text: str) -> bool:
        return _holds(text, self.value)


def terms(text: str, keys: Mapping[str, str]) -> list[Term]:
    """What is asked for; `keys` are the columns by what may be typed for them, in lower case.

    What looks like a term but names no column is a word: runtimes are called `fpga:v80`.
    """
    result = []
    for word in _TERM.findall(text):
        match = _TERM_PATTERN.fullmatch(word)
        key = keys.get(match["key"].lower(), "") if match else ""
        if match and key:
            result.append(Term(key, match["operator"], _bare(match["value"])))
        elif bare := _bare(word):
            result.append(Term("", ":", bare))
    return result


def typed_for(columns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What may be typed for these columns, of which each is a key and a name: both, and `SHORT`.

    Names come first: an option that is called as a column is asked for by its name.
    """
    column_keys = {key for key, _ in columns}
    by_key = {key.lower(): key for key, _ in columns}
    short = {word: key for word, key in SHORT.items() if key in column_keys}
    return {**by_key, **short, **{name.lower(): key for key, name in columns if name}}


def _bare(text: str) -> str:
    return text.replace('"', "")


def _format_value(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is(cell_value: str | float, value: str) -> bool:
    return re.fullmatch(_pattern(value), _plain(_format_value(cell_value))) is not None


def _holds(text: str, value: str) -> bool:
    plain, plain_value = _plain(text), _plain(value)
    return (
        plain_value in plain if "*" not in plain_value else bool(re.search(_pattern(value), plain))
    )


def _pattern(value: str) -> str:
    """`*` stands for anything within one sentence: cells with several part them by semicolons."""
    return "[^;]*".join(map(re.escape, _plain(value).split("*")))


def _plain(text: str) -> str:
    """Upper or lower case, a space or the underscore of a file: nobody means one of them."""
    return text.lower().replace("_", " ")


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
