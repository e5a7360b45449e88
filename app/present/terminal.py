"""Documents on a terminal, wrapped to its width and coloured, and in Markdown, with names escaped
and tables that any viewer shows; the choice of an output format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO
from urllib.parse import quote

from app.formatting.text import printable
from app.present.document import (
    Block,
    Cell,
    Column,
    Command,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
    Tone,
    text_of,
    tone_of,
    unfolded,
)


def width_of_text(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def filled(text: str, width: int, first: str = "", indent: str = "") -> list[str]:
    """The words of a text in lines of at most so many columns; a longer word is broken.

    The first line begins with `first`, the others with `indent`. What a terminal would act on is
    shown as escapes.
    """
    lines: list[str] = []
    line, has_words = first, False
    for word in _words(printable(text)):
        if has_words and width_of_text(line) + 1 + width_of_text(word) <= width:
            line = f"{line} {word}"
            continue
        if has_words:
            lines.append(line)
            line = indent
        *full_parts, last = _break_word(word, max(1, width - width_of_text(line)))
        for part in full_parts:
            lines.append(line + part)
            line = indent
        line, has_words = line + last, True
    return [*lines, line] if has_words else lines


_COMMAND = re.compile(r"pip install \S+|sudo [\w-]+ \S+( [^\s-]\S*)?")
"""What is pasted, and therefore stays on one line."""


def _commands(text: str) -> Iterator[str]:
    yield from (command[0] for command in _COMMAND.finditer(text))


def _words(text: str) -> Iterator[str]:
    """A command is one of them."""
    kept = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), text)
    yield from (word.replace("\0", " ") for word in kept.split(" "))


def _break_word(word: str, width: int) -> list[str]:
    """The word in parts of at most so many columns; a character that is wider is one."""
    if width_of_text(word) <= width:
        return [word]
    from rich.cells import chop_cells

    return [part for part in chop_cells(word, width) if part]


GAP = 2
NAME_WIDTH = 24
"""A longer name is folded where the table would otherwise be too wide."""
MINIMUM_NAME_WIDTH = 8
_BAR = "| "
_COLORS: dict[Tone, str] = {"ok": "32", "warning": "33", "error": "31", "quiet": "2"}
_BOLD = "1"


def write_document(blocks: Iterable[Block], stream: TextIO, width: int) -> None:
    """Print the document; in colour if `out` is a terminal and NO_COLOR is not set."""
    has_colors = stream.isatty() and "NO_COLOR" not in os.environ
    for line in as_lines(blocks, width, has_colors):
        stream.write(f"{line}\n")


def as_text(blocks: Iterable[Block], width: int) -> str:
    """The document without colours."""
    return "".join(f"{line}\n" for line in as_lines(blocks, width))


def as_lines(blocks: Iterable[Block], width: int, colored: bool = False) -> Iterator[str]:
    """Its lines, none wider than `width` but commands, which are to be copied whole."""
    first = True
    for block in unfolded(blocks):
        match block:
            case Heading(text):
                yield from [] if first else [""]
                yield from _style_lines(filled(text, width), _BOLD, colored)
            case Paragraph(text, tone):
                yield from _style_lines(filled(text, width), _COLORS.get(tone, ""), colored)
            case Points(sentences):
                for sentence in sentences:
                    yield from filled(sentence, width, "- ", "  ")
            case Note(label, text, tone):
                yield from _note(label, text, tone, width, colored)
            case Command():
                yield from _command(block, width)
            case Picture(file, description):
                yield from filled(f"picture: {file}, {description}", width)
            case Table():
                yield from _table(block, width, colored)
        first = False


def _command(block: Command, width: int) -> Iterator[str]:
    """The purpose behind the line as a comment of the shell, or above where there is no room."""
    line, purpose = f"  {printable(block.line)}", printable(block.purpose)
    if purpose and width_of_text(line) + len("  # ") + width_of_text(purpose) <= width:
        yield f"{line}  # {purpose}"
        return
    if purpose:
        yield from filled(f"{purpose}:", width)
    yield line


def _note(label: str, text: str, tone: Tone, width: int, colored: bool) -> Iterator[str]:
    head, *rest = filled(f"{label}: {text}", width, "", "  ")
    if colored and head.startswith(label):
        head = f"{_paint(label, _COLORS.get(tone, ''))}{head[len(label) :]}"
    yield head
    yield from rest


def _table(table: Table, width: int, colored: bool) -> Iterator[str]:
    visible_rows = table.rows[: table.maximum_rows] if table.maximum_rows else table.rows
    widths = [_width(table, visible_rows, place) for place in range(len(table.columns))]
    parts, missing = _parts(table.columns, widths, width)
    if table.has_all_columns and missing:
        parts, missing = [*parts, *_further_parts(table.columns, widths, missing, width)], []
    limits = [
        [_longest(split, visible_rows, place) for place in range(len(table.columns))]
        for split in (_words, _commands)
    ]
    for number, part in enumerate(parts):
        if number and table.has_all_columns:
            yield ""
        folded_widths = _fold_widths(table.columns, widths, limits, part, width)
        yield from _part(table, visible_rows, part, folded_widths, colored)
    source_text = f" in {table.full_table}" if table.full_table else ""
    if len(visible_rows) < len(table.rows):
        yield from filled(
            f"... and {len(table.rows) - len(visible_rows):,} more{source_text}", width
        )
    if missing:
        headings = ", ".join(table.columns[place].title for place in missing)
        yield from filled(f"no room for {headings}: use a wider terminal, or -f markdown", width)
    if table.caption:
        yield from _style_lines(filled(table.caption, width), _COLORS["quiet"], colored)


def _part(
    table: Table,
    rows: Sequence[Sequence[Cell | str]],
    places: Sequence[int],
    widths: Sequence[int],
    colored: bool,
) -> Iterator[str]:
    """The table of these columns: headings, a line, rows."""
    columns = [table.columns[place] for place in places]
    if any(column.group for column in columns):
        yield _line(columns, [Cell(column.group) for column in columns], widths, False)
    heads = [Cell(" ".join(filter(None, (c.heading, c.unit and f"({c.unit})")))) for c in columns]
    for line in _lines(columns, heads, widths, False):
        yield _paint(line, _BOLD) if colored else line
    yield "─" * (
        sum(widths) + GAP * (len(widths) - 1) + len(_BAR) * sum(c.has_bar for c in columns)
    )
    for row in rows:
        cells = [row[place] for place in places]
        yield from _lines(columns, cells, widths, colored)


def _lines(
    columns: Sequence[Column], cells: Sequence[Cell | str], widths: Sequence[int], colored: bool
) -> Iterator[str]:
    """One row; names that are too long go on in further lines."""
    folded_cells = [
        filled(text_of(cell), width) or [""] for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(map(len, folded_cells))):
        texts = [
            Cell(lines[number] if number < len(lines) else "", tone=tone_of(cell))
            for lines, cell in zip(folded_cells, cells, strict=True)
        ]
        yield _line(columns, texts, widths, colored)


def _line(
    columns: Sequence[Column], cells: Sequence[Cell], widths: Sequence[int], colored: bool
) -> str:
    words = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        text = printable(cell.text)
        spaces = " " * (width - width_of_text(text))
        painted_text = _paint(text, _COLORS.get(cell.tone, "")) if colored else text
        padded_text = painted_text + spaces if column.is_name else spaces + painted_text
        words.append(f"{_BAR if column.has_bar else ''}{padded_text}")
    return (" " * GAP).join(words).rstrip()


def _parts(
    columns: Sequence[Column], widths: Sequence[int], width: int
) -> tuple[list[list[int]], list[int]]:
    """The places of the columns of each part, and those that there is no room for."""
    all_places = list(range(len(columns)))
    spare_places = [place for place in all_places if columns[place].priority]
    if not spare_places and any(column.group for column in columns):
        return list(_by_group(columns, widths, width)), []
    visible_places = [place for place in all_places if not columns[place].priority]
    for place in sorted(spare_places, key=lambda place: columns[place].priority):
        wider = sorted([*visible_places, place])
        if _fits(columns, widths, wider, width):
            visible_places = wider
    return [visible_places], [place for place in all_places if place not in visible_places]


def _further_parts(
    columns: Sequence[Column], widths: Sequence[int], missing: Sequence[int], width: int
) -> Iterator[list[int]]:
    """The columns that there was no room for, each time with the names that the rows begin with."""
    figures = [place for place, column in enumerate(columns) if not column.is_name]
    named = range(max(figures, default=max(missing)))
    names = [place for place in named if columns[place].is_name and not columns[place].priority]
    single = ([place] for place in missing)
    return map(sorted, _filled_parts(names, single, lambda p: _fits(columns, widths, p, width)))


def _filled_parts(
    always: list[int], groups: Iterable[list[int]], fits: Callable[[list[int]], bool]
) -> Iterator[list[int]]:
    """As many whole groups as fit, each time with the columns of no group."""
    part = always
    for group in groups:
        if part != always and not fits([*part, *group]):
            yield part
            part = always
        part = [*part, *group]
    yield part


def _longest(
    split: Callable[[str], Iterable[str]], rows: Sequence[Sequence[Cell | str]], place: int
) -> int:
    parts = (part for row in rows for part in split(printable(text_of(row[place]))))
    return max(map(width_of_text, parts), default=0)


def _by_group(columns: Sequence[Column], widths: Sequence[int], width: int) -> Iterator[list[int]]:
    always = [place for place, column in enumerate(columns) if not column.group]
    groups: dict[str, list[int]] = {}
    for place, column in enumerate(columns):
        if column.group:
            groups.setdefault(column.group, []).append(place)
    return _filled_parts(
        always, groups.values(), lambda part: _part_width(columns, widths, part) <= width
    )


def _fits(
    columns: Sequence[Column], widths: Sequence[int], places: Sequence[int], width: int
) -> bool:
    """Whether these columns have room with their names folded."""
    folded_widths = [
        min(w, NAME_WIDTH) if c.is_name else w for c, w in zip(columns, widths, strict=True)
    ]
    return _part_width(columns, folded_widths, places) <= width


def _fold_widths(
    columns: Sequence[Column],
    widths: Sequence[int],
    limits: Sequence[Sequence[int]],
    places: Sequence[int],
    width: int,
) -> list[int]:
    """The widths of a part: the widest names give way until it has room, between their words as
    long as that is enough, and then not below the last of their `limits`, commands."""
    folded_widths = list(widths)
    names = [place for place in places if columns[place].is_name]
    for least in limits:
        while _part_width(columns, folded_widths, places) > width:
            limit_of = {place: max(least[place], MINIMUM_NAME_WIDTH) for place in names}
            wide = [place for place in names if folded_widths[place] > limit_of[place]]
            if not wide:
                break
            folded_widths[max(wide, key=lambda place: folded_widths[place])] -= 1
    return [folded_widths[place] for place in places]


def _part_width(columns: Sequence[Column], widths: Sequence[int], places: Sequence[int]) -> int:
    bars = len(_BAR) * sum(columns[place].has_bar for place in places)
    return sum(widths[place] for place in places) + GAP * (len(places) - 1) + bars


def _width(table: Table, rows: Sequence[Sequence[Cell | str]], place: int) -> int:
    column = table.columns[place]
    heading = " ".join(filter(None, (column.heading, column.unit and f"({column.unit})")))
    texts = (column.group, heading, *(text_of(row[place]) for row in rows))
    return max(width_of_text(printable(text)) for text in texts)


def _style_lines(lines: Sequence[str], style: str, colored: bool) -> Iterator[str]:
    for line in lines:
        yield _paint(line, style) if colored else line


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style and text else text


FORMATS = ("table", "json", "csv", "markdown")
TABLE = FORMATS[0]


def write_formatted(
    blocks: Iterable[Block],
    form: str,
    stream: TextIO,
    width: int,
    facts: Callable[[], Mapping[str, Any]] = dict,
) -> None:
    """Write the document; no line of a table for a terminal is wider than `width`. `facts` stand
    before the blocks of JSON."""
    if form == TABLE:
        write_document(blocks, stream, width)
    else:
        stream.write(document_text(blocks, form, facts))


def document_text(
    blocks: Iterable[Block], form: str, facts: Callable[[], Mapping[str, Any]] = dict
) -> str:
    """The text of a document for other programs; of CSV its main table."""
    if form == "json":
        from app.present.json import json_text

        return json_text(blocks, facts())
    if form == "csv":
        from app.present.json import csv_text

        return csv_text(blocks)
    return as_markdown(blocks)


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&$@!]|:(?=//)|(?<=[wW]{3})\.)")
"""What may begin a format, a link, a tag, an entity, a formula or a mention; of an address, what
GitHub would make a link of."""
_LIST_MARKER = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
"""What would begin a list where the text begins a line."""


def escaped(text: str) -> str:
    """The text so that Markdown shows it as it is, on one line."""
    line = _MARKDOWN.sub(r"\\\1", printable(" ".join(text.split())))
    return _LIST_MARKER.sub(r"\1\\\2", line)


def as_markdown(blocks: Iterable[Block]) -> str:
    """The page. Names are a user's: nothing in one is taken for Markdown or HTML."""
    parts = ("\n".join(_markdown_lines(block)) for block in unfolded(blocks))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {escaped(text)}"
        case Paragraph(text):
            yield escaped(text)
        case Points(sentences):
            yield from (f"- {escaped(sentence)}" for sentence in sentences)
        case Note(label, text):
            yield f"- **{escaped(label)}**: {escaped(text)}"
        case Command(line, purpose):
            if purpose:
                yield f"{escaped(purpose)}:"
                yield ""
            yield f"```\n{line}\n```"
        case Picture(file, description):
            yield f"![{escaped(description)}]({quote(file)})"
        case Table():
            yield from _markdown_table(block)


def _markdown_table(table: Table) -> Iterator[str]:
    yield _markdown_row(escaped(column.title) for column in table.columns)
    yield _markdown_row("---" if column.is_name else "---:" for column in table.columns)
    yield from (_markdown_row(escaped(text_of(cell)) for cell in row) for row in table.rows)
    if table.caption:
        yield ""
        yield escaped(table.caption)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
