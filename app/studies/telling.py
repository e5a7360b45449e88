"""A study's page, written into its run's folder and printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.cases.disk import unwritable
from app.console.lasting import Lasting
from app.console.width import width_of
from app.present.document import Block
from app.present.markdown import as_markdown
from app.present.terminal import write_document
from app.results.atomic import write_atomically
from app.results.plain import printable
from app.studies.found import Found
from app.studies.page import PAGE, write_page
from app.studies.study import Study


def written(asked: Study, found: Found) -> list[Path]:
    """The files of a study, written; DiskError if one can't be."""
    try:
        return [found.run.path / name for name in write_page(asked, found)]
    except OSError as error:
        raise unwritable(found.run.path, error) from error


def written_alone(folder: Path, blocks: Iterable[Block]) -> list[Path]:
    """A page that has nothing beside it, written; DiskError if it can't be."""
    try:
        write_atomically(folder / PAGE, as_markdown(blocks).encode())
    except OSError as error:
        raise unwritable(folder, error) from error
    return [folder / PAGE]


def told(blocks: Iterable[Block], paths: Sequence[Path]) -> int:
    """Print the page and what was written; 1 where standard output is gone."""
    out = Lasting(sys.stdout)
    write_document(blocks, out, width_of(out))
    for path in paths:
        out.write(f"{printable(f'wrote {path}')}\n")
    out.flush()
    return int(out.lost)
