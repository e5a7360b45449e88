"""Cards are data: a wrong file is refused with the field, a wrong name with the nearest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.fpga.cards import CardError, card_keys, is_published, load_card
from tests.checkout import ROOT

GOOD = (ROOT / "runtimes/fpga/cards/v80.toml").read_text("utf-8")


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("key", "clock_mhz", "cores", "block", "tiles"),
    [
        ("v80", 300, 6, 32, 24576),
        ("ia-840f", 320, 3, 64, 1536),
        ("ia-420f", 320, 6, 32, 3072),
    ],
)
def test_the_cards_hold_the_public_facts(
    key: str, clock_mhz: float, cores: int, block: int, tiles: int
) -> None:
    card = load_card(key)
    assert (card.clock_mhz, card.cores, card.block, card.tiles) == (clock_mhz, cores, block, tiles)


def test_the_plain_release_is_the_newest_with_a_table_of_networks() -> None:
    for key in card_keys():
        card = load_card(key)
        assert card.release() == card.release(max(r.name for r in card.releases if r.published))


@pytest.mark.parametrize(
    ("wrong", "near"), [("v8", "'v80'"), ("ia-420", "'ia-420f'"), ("", "no card ''")]
)
def test_an_unknown_card_names_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(CardError, match=near) as raised:
        load_card(wrong)
    assert all(key in raised.value.remedy for key in card_keys())


def test_an_unknown_release_names_the_nearest() -> None:
    with pytest.raises(CardError, match=r"sdk28.*'sdk2") as raised:
        load_card("v80").release("sdk28")
    assert "sdk25" in raised.value.remedy


def test_a_file_is_a_card(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("cores = 6", "cores = 12").replace('key = "v80"', ""))
    card = load_card(path)
    assert card.cores == 12
    assert not is_published(card)


def test_a_changed_figure_ends_the_tables_word() -> None:
    card = load_card("v80")
    assert is_published(card)
    assert not is_published(replace(card, cores=12))


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("clock_mhz = 300", "", "clock_mhz is missing"),
        ("io_us = 2.249", "", r"sdk25.*io_us is missing"),
        ("cores = 6", "cores = -6", "cores = -6 must be more than zero"),
        ("cores = 6", "cores = 0", "cores = 0 must be more than zero"),
        ("block = 32", "block = 32.5", "block = 32.5 is not a whole number"),
        ("block = 32", "block = true", "block = True is not a whole number"),
        ("clock_mhz = 300", 'clock_mhz = "300"', "clock_mhz = '300' is not a number"),
        ("clock_mhz = 300", "clock_mhz = inf", "clock_mhz = inf is not a finite number"),
        ("dma_us = 0.0", "dma_us = -0.1", "dma_us = -0.1 must be zero or more"),
        ("cores = 6", "cores = 6\ncoers = 6", "'coers' is not known; the nearest is 'cores'"),
        ('newest = "sdk26"', 'newest = "sdk99"', "no release 'sdk99'"),
        ("cores = 6", "cores = ", "is not TOML"),
        ("io_us = 2.249", "io_us = 0.01", "io_us = 0.01 is less than the host's jitter_us"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(
    tmp_path: Path, before: str, after: str, named: str
) -> None:
    assert before in GOOD
    with pytest.raises(CardError, match=named) as raised:
        load_card(write(tmp_path, GOOD.replace(before, after)))
    assert raised.value.remedy


def test_a_card_without_a_release_or_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="has no release"):
        load_card(write(tmp_path, GOOD.partition("[releases")[0]))
    with pytest.raises(CardError, match="can't be read"):
        load_card(str(tmp_path / "absent.toml"))
