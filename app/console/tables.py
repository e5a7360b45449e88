"""The one look of our tables: a line under the headings, what is said of them at the left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

APART = (0, 1, 0, 0)
"""The padding of a table that has no title: columns a space apart, none before the first."""


def simple_table(
    title: str = "",
    caption: str | Text = "",
    *,
    edge: bool = True,
    padding: tuple[int, int, int, int] = (0, 1, 0, 1),
) -> Table:
    """A table without columns; `edge` is an empty line above and below it."""
    # Where it is needed: rich takes a good part of the time in which a short command is done.
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        box=SIMPLE_HEAD,
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        show_edge=edge,
        pad_edge=False,
        padding=padding,
    )
