"""`python -m tests.golden --write`: write the expected texts as the program shows them now."""

from __future__ import annotations

import sys

from tests.golden.screens import EXPECTED, stored, texts


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        print("usage: python -m tests.golden --write")
        return 2
    before = stored()
    after = dict(texts())
    for name in before.keys() - after.keys():
        (EXPECTED / name).unlink()
        print(f"removed {name}")
    for name, text in after.items():
        if before.get(name) != text:
            path = EXPECTED / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
