"""Former names of columns: each leads to a column of today, and none is in use again."""

from __future__ import annotations

from app.cases.column_names import RENAMED, column, current_name, parse_columns, with_current_names
from app.cases.columns import NAMES
from app.console.row_table import sort_column
from app.gui.tables.query import Term, terms, typed_for


def test_each_former_name_leads_to_a_column() -> None:
    assert set(RENAMED.values()) <= set(NAMES)
    assert not RENAMED.keys() & set(NAMES), "a name in use can't be another column's former one"
    assert len(set(RENAMED.values())) == len(RENAMED)
    for former, name in RENAMED.items():
        definition = column(former)
        assert definition is not None and definition.name == name


def test_other_names_are_unchanged() -> None:
    assert current_name("latency_p50_us") == "latency_p50_us"
    assert with_current_names({"given": "a.npz", "mine": 1}) == {"user_files": "a.npz", "mine": 1}


def test_flags_and_the_filter_accept_former_names() -> None:
    assert parse_columns("latency,steal_share", ()) == ("latency", "steal_fraction")
    assert sort_column("max_over_p50", ()) == "max_to_p50_ratio"
    keys = typed_for([("steal_fraction", ""), ("model", "")])
    assert terms("steal_share>0.1", keys) == [Term("steal_fraction", ">", "0.1")]
