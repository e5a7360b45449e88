"""Columns of the results table, values, settings, ratios, and the filter `model:lstm p99>5`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.analysis.columns.table import BY_NAME, NAMES, all_names
from app.analysis.columns.table import column as column_of
from app.analysis.comparison.judge import Sides
from app.analysis.comparison.measured_case import COMPARED
from app.analysis.plot_data.series import Baseline, Series, deltas, number, quoted, ranked
from app.analysis.plot_data.settings import Setting
from app.cases.column import Column as ResultColumn
from app.cases.dimensions import SETTINGS
from app.cases.objectives import PERCENTILES
from app.cases.units import percentile_label as percentile_as_written
from app.formatting.text import CLOCK_TEXT, ratio_interval, significant, time_text
from app.run_folder.diagnostics import codes_in

Kind = Literal["text", "count", "lower", "higher"]
"""lower and higher: a figure of which less or more is better, compared with a baseline."""

_WIDTHS = {
    "model": 145,
    "runtime": 160,
    "precision": 84,
    "batch_size": 66,
    "status": 110,
    "clock": 96,
    "reason": 180,
    "warnings": 320,
}
_MICROSECONDS = "_us"
"""How the names of columns end whose figures are told each in the unit that suits it."""
_FROM_SUMMARY = {f"latency_{name}_us": name for name in PERCENTILES}


@dataclass(frozen=True, slots=True)
class Column:
    """`key` is the name in results.csv; `title` and `hint` are the header's."""

    key: str
    title: str
    hint: str
    kind: Kind
    width: int

    def raw(self, series: Series) -> str | float | None:
        """The value as stored: text, or a number; None where there is none."""
        if self.kind != "text":
            return _figure(series, self.key)
        read_identity = _IDENTITY.get(self.key)
        value = read_identity(series) if read_identity else series.row.get(self.key)
        return None if value is None or value == "" else str(value)

    def text(self, value: str | float | None) -> str:
        """The value as people read it."""
        if value is None:
            return ""
        if isinstance(value, str):
            return CLOCK_TEXT.get(value, value) if self.key == "clock" else value
        if value == int(value) and abs(value) < 1e15 and self.kind == "count":
            return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
        if self.key.endswith(_MICROSECONDS):
            return time_text(value * 1e-6, 4)
        return f"{value:,.0f}" if abs(value) >= 10_000 else significant(value, 4)


def _standing(series: Series) -> str:
    """How the case ended, and that its measurement broke its own protocol, where it did."""
    is_not_valid = series.status == "ok" and not ranked([series])
    return "ok, not valid" if is_not_valid else series.status.replace("_", " ")


_IDENTITY: dict[str, Callable[[Series], str]] = {
    "model": lambda series: series.model,
    "runtime": lambda series: series.runtime,
    "clock": lambda series: str(series.row.get("clock") or series.clock),
    "status": _standing,
}


def _figure(series: Series, key: str) -> float | None:
    value = number(series, key)
    if value is None and key == "rounds" and series.timed:
        return float(len(series.timed))
    if key in _FROM_SUMMARY:
        latency = quoted(series, _FROM_SUMMARY[key])
        return None if latency is None else latency.value_us
    return value


def _column(result_column: ResultColumn) -> Column:
    kind: Kind = (
        "text" if result_column.kind in ("text", "flag") else result_column.better or "count"
    )
    width = _WIDTHS.get(result_column.name, 130 if result_column.better else 110)
    return Column(
        result_column.name,
        result_column.title.removesuffix(" (µs)"),
        result_column.meaning,
        kind,
        width,
    )


DEFAULT: tuple[str, ...] = (
    "model",
    "runtime",
    "latency_p50_us",
    "latency_p99_us",
    "precision",
    "batch_size",
    "status",
    "clock",
    "latency_p999_us",
    "throughput_per_s",
    "reason",
)
"""What is shown until somebody chooses otherwise: the figures first, where they are always seen."""
ALWAYS = DEFAULT[:4]
"""What is shown although no row has it yet."""

_SETTINGS = DEFAULT.index("status")
_ORDERED_KEYS = tuple(dict.fromkeys((*DEFAULT[:_SETTINGS], *SETTINGS, *DEFAULT[_SETTINGS:])))

COLUMNS: tuple[Column, ...] = tuple(
    _column(BY_NAME[key]) for key in (*_ORDERED_KEYS, *(k for k in NAMES if k not in _ORDERED_KEYS))
)


def columns_of(series: Sequence[Series]) -> tuple[Column, ...]:
    """All columns, and after them those of percentiles that the plan of these cases chose."""
    row = next((case_series.row for case_series in series if "ci_method" in case_series.row), {})
    extra_columns = [column_of(name) for name in all_names([row])[len(NAMES) :]]
    return (*COLUMNS, *(_column(extra) for extra in extra_columns if extra is not None))


def shown_unasked(key: str) -> bool:
    """Whether a column is shown until somebody chooses otherwise: of a percentile its figure."""
    if key in BY_NAME:
        return key in DEFAULT
    return key.startswith("latency_") and "_ci_" not in key


_SETTING_WIDTH = 92
_NOTHING = Setting("option", "", numeric=False)


@dataclass(frozen=True, slots=True)
class SettingColumn(Column):
    """An option of a case, or a size of its model: `name` is how plan and model call it."""

    setting: Setting = _NOTHING

    @property
    def name(self) -> str:
        return self.setting.name

    def raw(self, series: Series) -> str | float | None:
        value = self.setting.value(series)
        return float(value) if value is not None and self.kind == "count" else value


def varying(settings: Sequence[Setting]) -> list[str]:
    """The columns by which rows with these settings differ, of those not shown unasked."""
    return [setting.key for setting in settings if setting.key not in DEFAULT]


def setting_columns(settings: Sequence[Setting], series: Sequence[Series]) -> list[SettingColumn]:
    """One for each option by which cases of one runtime differ, and each size that differs."""
    return [_setting_column(setting, series) for setting in settings if setting.kind != "column"]


def _setting_column(setting: Setting, series: Sequence[Series]) -> SettingColumn:
    least = min(value for c in series if (value := setting.value(c)) is not None)
    word = "An option" if setting.kind == "option" else "A size"
    hint = f"{word} of the case. In the filter: {setting.name}={least}"
    kind: Kind = "count" if setting.numeric else "text"
    return SettingColumn(setting.key, setting.name, hint, kind, _SETTING_WIDTH, setting)


_DELTA_WIDTH = 210


@dataclass(frozen=True, slots=True)
class DeltaColumn(Column):
    """`sides` by the keys of cases; columns of one baseline are the same whatever is in them."""

    sides: Mapping[str, Sides] = field(default_factory=dict, compare=False)

    def raw(self, series: Series) -> str | float | None:
        side = self.sides.get(series.key)
        return None if side is None else side.ratio

    def told(self, series: Series) -> str:
        """`0.970 (0.951 to 0.989) faster`; "" where nothing is to be compared."""
        side = self.sides.get(series.key)
        if side is None:
            return ""
        interval = side.verdict.interval
        limits = f" ({ratio_interval(interval.low, interval.high)})" if interval else ""
        return f"{significant(side.ratio)}{limits} {side.verdict.word}"


def delta_columns(
    baselines: Sequence[Baseline], series: Sequence[Series], band: float
) -> tuple[DeltaColumn, ...]:
    """Two for each baseline: p50 and p99 over its own."""
    columns = []
    for baseline in baselines:
        deltas_by_key = deltas(baseline, series, band)
        several = any(
            delta.verdict.family > 1
            for by_name in deltas_by_key.values()
            for delta in by_name.values()
        )
        correction = ", corrected for all comparisons" * several
        for name in COMPARED:
            label = percentile_as_written(name)
            how = "pairs of rounds" if baseline.in_turn else "two runs, measured apart"
            columns.append(
                DeltaColumn(
                    f"over:{baseline.key}:{name}",
                    f"{label} / {baseline.name}",
                    f"The {label} over that of the baseline {baseline.name}, from {how}, with its "
                    f"verdict and the interval that decided it{correction}.",
                    "count",
                    _DELTA_WIDTH,
                    {k: b[name] for k, b in deltas_by_key.items() if name in b},
                )
            )
    return tuple(columns)


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
            if own_number is None or number is None:
                return False
            return _ORDERS[self.sign](own_number, number)
        if self.sign == ":":
            return _holds(_format_value(cell_value), self.value)
        if number is None:
            return _is(cell_value, self.value) == (self.sign == "=")
        return (_number(str(cell_value)) == number) == (self.sign == "=")

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
    if "*" in plain_value:
        return bool(re.search(_pattern(value), plain))
    return plain_value in plain


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
