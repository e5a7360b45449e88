"""The exit codes: one table for the help page and the documentation."""

from __future__ import annotations

EXIT_CODES = (
    (0, "every row is good"),
    (
        1,
        "a row failed or was not measured; nothing could be measured or, of check, compiled; "
        "a run folder is damaged; a disk failed; the results could not be printed; doctor found "
        "a broken runtime; with --fail-on slower, a case could not be judged",
    ),
    (2, "the command or the plan is wrong; nothing was written"),
    (3, "with --fail-on slower: a case is slower"),
    (130, "interrupted; resume goes on from there"),
)
