"""`python -m tests.documents` writes docs/founding-documents.md."""

from __future__ import annotations

from tests.documents.page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
