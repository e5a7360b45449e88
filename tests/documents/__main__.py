"""`python -m tests.documents` writes the second half of docs/studies.md."""

from __future__ import annotations

from tests.documents.page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
