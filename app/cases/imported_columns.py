"""The columns of what was imported from another program's file."""

from __future__ import annotations

from app.cases.column import text

IMPORTED = (
    text(
        "imported_from",
        "Imported from",
        "The program that measured the row, with its version if the file has it.",
        group="identity",
    ),
    text("imported_file", "Imported file", "The name of the file that it was read from."),
    text("imported_sha256", "File's sha256", "What that file is known by."),
)
