"""Published figures are those of the tables' rows that a card ran."""

from __future__ import annotations

from app.analysis.comparison.published_figures import card_rows, published_for


def test_a_network_that_fits_a_card_has_its_published_figures() -> None:
    rows = card_rows()
    assert any(row.fits and row.mean_us for row in rows)
    for row in rows:
        figures = [
            figure.mean_us
            for figure in published_for(row.model)
            if (figure.device, figure.source) == (row.card, row.source)
        ]
        if row.fits and row.mean_us:
            assert row.mean_us in figures
