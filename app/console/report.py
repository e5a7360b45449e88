"""The table at the end of a sweep: measured rows, and published figures under them.

What is the same in every row is told once, in the caption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from app.cases.axes import AXES
from app.cases.columns import BY_NAME, Row, Value
from app.cases.status import STATUSES, Tone
from app.results import text
from app.results.labels import model_labels, unusual_options
from app.results.plain import printable
from app.results.published import Published, published_for

if TYPE_CHECKING:
    from rich.table import Table

_VARIABLE = (
    *(axis.column for axis in AXES),
    "sequence_length",
    "options",
    "clock",
    "accuracy_top1",
)
_STYLES: dict[Tone, str] = {"good": "green", "doubtful": "yellow", "bad": "red"}
_PUBLISHED = "dim"


def final_table(rows: Sequence[Row]) -> Table:
    """A rich table of all rows, grouped by model in the plan's order."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown, common = _variable_columns(rows)
    labels = model_labels(str(row["model"]) for row in rows)
    table = Table(box=SIMPLE_HEAD, caption=common, caption_justify="left", pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("parameters", justify="right", no_wrap=True)
    table.add_column("batch", justify="right")
    table.add_column("runtime", overflow="fold")
    for column in shown:
        table.add_column(_heading(column), overflow="fold")
    for heading in ("mean", "p50", "p99", "p50 95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        for row in own:
            status = str(row["status"])
            style = _STYLES[next(f.tone for name, f in STATUSES.items() if name == status)]
            label = labels[str(model)]
            table.add_row(label, *_cells(row, shown), Text(status, style))
        for figure in published_for(str(model)):
            table.add_row(*_published_cells(figure, shown), style=_PUBLISHED)
    return table


def reasons(rows: Sequence[Row], labels: Mapping[str, str]) -> Iterator[str]:
    """One line for each row that is not ok, and for each that broke its protocol.

    `labels` are those of the cases by their ids.
    """
    for row in rows:
        label = labels[str(row["case_id"])]
        if row["status"] != "ok":
            yield f"{label}: {row['status']}: {row['reason']}"
        elif row["valid"] is False:
            yield f"{label}: not valid: {row['reason'] or row['warnings']}"


def _variable_columns(rows: Sequence[Row]) -> tuple[list[str], str]:
    """The optional columns that differ between rows, and a caption with the others."""
    shown, common = [], []
    for column in _VARIABLE:
        # Options left out are the defaults; anything else left out was not come to.
        values = {_shown(row, column) for row in rows}
        values -= {""} if column != "options" or values == {""} else set()
        if len(values) > 1:
            shown.append(column)
        elif values:
            common.append(f"{_heading(column)} {values.pop()}")
    return shown, "every measured row: " + ", ".join(common) if common else ""


def _heading(column: str) -> str:
    return BY_NAME[column].title.lower()


def _shown(row: Row, column: str) -> str:
    value = row[column]
    if column == "scenario" and row["gap_us"] is not None:
        return f"{value}:{row['gap_us']:g}us"
    if column == "options":
        return unusual_options(str(row["runtime"]), str(value or ""))
    if column == "accuracy_top1" and isinstance(value, float):
        return f"{100 * value:.1f} %"
    if column == "precision" and value is None:
        value = row["precision_asked"]  # nothing was executed
    return "" if value is None else printable(str(value))


def _cells(row: Row, shown: Sequence[str]) -> list[str]:
    return [
        text.count(_whole(row["parameters"])),
        text.count(_whole(row["batch_size"])),
        str(row["runtime"]),
        *(_shown(row, column) for column in shown),
        text.latency(_number(row["latency_mean_us"])),
        text.latency(_number(row["latency_p50_us"])),
        text.latency(_number(row["latency_p99_us"])),
        text.interval(
            _number(row["latency_p50_ci_low_us"]), _number(row["latency_p50_ci_high_us"])
        ),
    ]


def _published_cells(figure: Published, shown: Sequence[str]) -> list[str]:
    mean = figure.mean_us
    return [
        "",
        "",
        "",
        figure.device,
        *("" for _ in shown),
        text.latency(mean) if mean else text.rate_text(figure.throughput_per_s),
        "",
        text.latency(figure.p99_us) if figure.p99_us else "",
        "",
        f"published ({figure.conditions})",
    ]


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _whole(value: Value) -> int | None:
    return value if isinstance(value, int) else None
