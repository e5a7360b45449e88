"""`python -m app.analysis.columns.columns_page` writes COLUMNS.md from the table of columns.

A test holds the page against the table, so that neither can go its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from app.cases.column import GROUPS, Column
from app.cases.columns import COLUMNS, MAIN, column, percentile_columns
from app.cases.status import STATUSES

PAGE = Path(__file__).with_name("COLUMNS.md")
_KINDS = {"text": "text", "count": "integer", "number": "number", "flag": "true or false"}
_BETTER = {"": "", "lower": "↓", "higher": "↑"}


def page() -> str:
    """The whole page."""
    lines = [
        "# The columns of `results.csv` and `results.full.csv`",
        "",
        "Made by `python -m app.analysis.columns.columns_page` from `assets/columns.csv`; "
        "edit that.",
        "`results.full.csv` has all of them. Empty means not measured. A later version may add",
        "columns: readers pass over what they don't know.",
        "",
        f"`results.csv` has the same {len(MAIN)} columns in every run, in this order:",
        f"{_join_words(MAIN)}.",
        "",
        "`--columns` chooses others: `all`, names of columns, or the groups",
        f"{_join_words(GROUPS)}.",
        "",
        "In parentheses are a column's group, but for `other`, and its unit or kind: `us↓` are",
        "microseconds, of which less is better.",
    ]
    for heading, columns in groupby(COLUMNS, lambda column: column.section):
        lines += ["", f"## {heading}", "", *map(_line, columns)]
    lines += [
        "",
        "## Percentiles of your choice",
        "",
        "`--percentiles 50,99.99` adds columns of the same pattern for other percentiles,",
        "at the end of every row of that run: two digits before the point, and the point left out,",
        "so that p99.99 is `p9999` and p5 is `p05`.",
        "",
        *(
            _line(definition)
            for name in percentile_columns((99.99,))
            if (definition := column(name))
        ),
    ]
    lines += [
        "",
        "## Statuses, the worst first",
        "",
        "| status | fails the run | ends the case | meaning |",
    ]
    lines += ["| --- | --- | --- | --- |"]
    for status, fact in STATUSES.items():
        fails = "yes" if fact.failed else "with `--strict`" if fact.strict else "no"
        ends = "yes" if fact.ends_case else "no"
        lines.append(f"| `{status}` | {fails} | {ends} | {fact.meaning} |")
    return "\n".join(lines) + "\n"


def _line(column: Column) -> str:
    group = "" if column.group == "other" else column.group
    kind = column.unit or _KINDS[column.kind]
    words = ", ".join(filter(None, (group, f"{kind}{_BETTER[column.better]}")))
    return f"- `{column.name}` ({words}): {column.meaning}"


def _join_words(words: Sequence[str]) -> str:
    *items, last = (f"`{word}`" for word in words)
    return f"{', '.join(items)} and {last}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
