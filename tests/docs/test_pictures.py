"""The stored pictures show the window as it is: each is drawn again and compared in blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage

from tests.pictures import LARGEST_BYTES, PICTURES, SHOWN, draw_all

_BLOCK = 8
_MOST_LEVELS = 12.0
"""A block of 8 by 8 pixels whose mean colour is farther off than this, of 255, shows another thing:
a letter or the edge of a bar; smoothing that a processor rounds otherwise stays below."""


def changed_blocks(one: Path, other: Path) -> int:
    """How many blocks of two pictures differ; all of them where their sizes do."""
    first, second = _block_means(one), _block_means(other)
    if first.shape != second.shape:
        return max(first.size, second.size)
    return int((np.abs(first - second).max(axis=-1) > _MOST_LEVELS).sum())


def _block_means(path: Path) -> np.ndarray:
    image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGBA8888)
    assert not image.isNull(), f"{path.name} is missing: run make pictures"
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.width(), 4)
    rows, columns = image.height() // _BLOCK, image.width() // _BLOCK
    inside = pixels[: rows * _BLOCK, : columns * _BLOCK, :3].astype(float)
    return inside.reshape(rows, _BLOCK, columns, _BLOCK, 3).mean(axis=(1, 3))


@pytest.mark.long
def test_pictures_show_the_window_of_today(tmp_path: Path) -> None:
    draw_all(tmp_path)
    changes = {
        picture.name: changed_blocks(
            SHOWN / f"{picture.name}.png", tmp_path / f"{picture.name}.png"
        )
        for picture in PICTURES
    }
    older = {name: blocks for name, blocks in changes.items() if blocks}
    assert older == {}, f"older than what they show: run make pictures ({older})"


def test_every_stored_picture_is_one_that_is_made_and_small() -> None:
    stored = sorted(SHOWN.glob("*.png"))
    assert [path.stem for path in stored] == sorted(picture.name for picture in PICTURES)
    assert [path.name for path in stored if path.stat().st_size > LARGEST_BYTES] == []
