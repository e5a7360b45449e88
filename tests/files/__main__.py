"""`python -m tests.files`: measure every kind of file on every runtime, and write docs/files.md."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.checkout import ROOT
from tests.files.measured import KINDS, RUNTIMES, measured, page

PAGE = ROOT / "docs" / "files.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.files", description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep the files and the run here")
    flags = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="graphlap-files-") as scratch:
        rows = measured(KINDS, RUNTIMES, flags.folder or Path(scratch))
    PAGE.write_text(page(KINDS, rows), "utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
