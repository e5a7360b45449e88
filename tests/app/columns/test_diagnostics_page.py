"""The page of diagnostics is generated from the catalogue."""

from __future__ import annotations

import re

from app.columns.diagnostics_page import PAGE, page
from exporters.diagnostics.catalogue import CATALOGUE


def test_the_page_is_made_of_the_catalogue() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m app.columns.diagnostics_page"


def test_every_code_has_a_section() -> None:
    sections = re.split(r"^### ", page(), flags=re.MULTILINE)[1:]
    assert [section.partition("\n")[0].strip("`") for section in sections] == list(CATALOGUE)
