"""`python -m tests.desktop.pictures DIR`: the documentation's pictures, from those of
`tests.desktop.screenshots DIR`.

Each is one of those pictures under the name by which pages show it, in fewer colours if it would
be large otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtGui import QImage

from tests.checkout import ROOT

SHOWN = ROOT / "assets" / "screenshots"
LARGEST_BYTES = 200_000
PICTURES = {
    "measure-dark": "1280x800-dark/six-histogram",
    "results-light": "1280x800-light/forty-ranking",
    "against-light": "1280x800-light/forty-trends",
    "compare-light": "1280x800-light/six-compare",
    "history-light": "1280x800-light/one-history",
    "operators-dark": "1280x800-dark/six-operators",
    "schedule-dark": "1280x800-dark/cards-schedule",
    "accuracy-light": "1280x800-light/digits-accuracy",
    "palette-light": "1280x800-light/palette",
    "measuring-dark": "1280x800-dark/paused",
}


def main() -> int:
    """Write them; returns 0."""
    folder = Path(sys.argv[1])
    for name, source in PICTURES.items():
        target = SHOWN / f"{name}.png"
        image = QImage(str(folder / f"{source}.png"))
        assert not image.isNull(), f"{source} was not taken"
        image.convertToFormat(QImage.Format.Format_RGB888).save(str(target), quality=0)
        if target.stat().st_size > LARGEST_BYTES:
            image.convertToFormat(QImage.Format.Format_Indexed8).save(str(target), quality=0)
        assert target.stat().st_size <= LARGEST_BYTES, f"{name} is larger than a page should load"
    return 0


if __name__ == "__main__":
    sys.exit(main())
