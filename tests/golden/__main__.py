"""`python -m tests.golden --write`: write the expected texts as the program shows them now, and the
sample of one of them in the documentation."""

from __future__ import annotations

import sys

from tests.checkout import ROOT
from tests.golden.screens import EXPECTED, is_same, stored, texts

SAMPLE = "plain/terminal-80.txt"
SAMPLE_WORDS = "all outputs right"


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        print("usage: python -m tests.golden --write")
        return 2
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
    return 0


def write_sample(text: str) -> None:
    """Show in the documentation what is printed now."""
    page = ROOT / "docs" / "a-run.md"
    page_text = page.read_text("utf-8")
    (sample_text,) = (part for part in page_text.split("```\n") if SAMPLE_WORDS in part)
    lines = text.splitlines(keepends=True)[: sample_text.count("\n")]
    page.write_text(page_text.replace(sample_text, "".join(lines)), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
