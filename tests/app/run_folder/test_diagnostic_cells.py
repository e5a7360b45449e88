"""The cell of warnings of a row: a sentence for each code, with the figures of all that have it."""

from __future__ import annotations

from app.run_folder.diagnostics import diagnostic_columns, diagnostics_of
from exporters.diagnostics.catalogue import action, diagnostic


def test_a_warning_of_several_rounds_stands_once_in_its_cell() -> None:
    entries = [diagnostic("no_steady_state", warmup_s=s) for s in (0.306, 0.313, 0.25)]
    outliers = diagnostic("outliers", share=0.02)
    columns = diagnostic_columns([*entries, outliers])
    cell = str(columns["warnings"])
    assert cell.count(action(entries[0])) == 1
    assert "0.25" in cell
    assert "0.313" in cell
    assert columns["warning_codes"] == "no_steady_state;outliers"
    assert len(diagnostics_of(columns)) == 4
