"""`python -m tests.golden --write`: write the expected texts as the program shows them now, and the
sample of one of them in the documentation. `--store FOLDER` stores a run folder,
and `--without KEY` takes the key of a setting that is gone out of all of their plans."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.checkout import ROOT
from tests.golden.folders import drop_setting, store
from tests.golden.screens import EXPECTED, is_same, stored, texts

SAMPLE = "plain/terminal-80.txt"
SAMPLE_WORDS = "all outputs right"


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--store", folder]:
            store(Path(folder))
            return 0
        case ["--without", key]:
            drop_setting(key)
            return 0
        case ["--write"]:
            write()
            return 0
    print("usage: python -m tests.golden --write|--store FOLDER|--without KEY")
    return 2


def write() -> None:
    """The texts of every stored run."""
    texts_before = stored()
    texts_after = dict(texts())
    for name in texts_before.keys() - texts_after.keys():
        (EXPECTED / name).unlink()
        print(f"removed {name}")
    for name, text in texts_after.items():
        if name not in texts_before or not is_same(text, texts_before[name]):
            path = EXPECTED / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {name}")
    write_sample(texts_after[SAMPLE])


def write_sample(text: str) -> None:
    """Show in the documentation what is printed now."""
    page = ROOT / "docs" / "a-run.md"
    page_text = page.read_text("utf-8")
    (sample_text,) = (part for part in page_text.split("```\n") if SAMPLE_WORDS in part)
    lines = text.splitlines(keepends=True)[: sample_text.count("\n")]
    page.write_text(page_text.replace(sample_text, "".join(lines)), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
