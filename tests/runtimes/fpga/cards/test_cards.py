"""Cards are data: a wrong file is refused with the field, a wrong name with the nearest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.errors import Unsupported
from runtimes.fpga.cards import CardError, card_keys, is_published, load_card, read_target
from tests.checkout import ROOT

GOOD = (ROOT / "runtimes/fpga/cards/v80.toml").read_text("utf-8")


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_plain_release_is_the_newest_with_a_table_of_networks() -> None:
    for key in card_keys():
        card = load_card(key)
        assert card.release() == card.release(max(r.name for r in card.releases if r.published))


@pytest.mark.parametrize(
    ("wrong", "near"), [("v8", "'v80'"), ("ia-420", "'ia-420f'"), ("", "no card ''")]
)
def test_an_unknown_card_names_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(CardError, match=near) as exc_info:
        load_card(wrong)
    assert all(key in exc_info.value.remedy for key in card_keys())
    with pytest.raises(CardError, match=r"sdk28.*'sdk2") as exc_info:
        load_card("v80").release("sdk28")
    assert "sdk25" in exc_info.value.remedy


def test_a_file_is_a_card(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("cores = 6", "cores = 9").replace('key = "v80"', ""))
    card = load_card(path)
    assert card.cores == 9
    assert not is_published(card)
    public = load_card("v80")
    assert is_published(public) and not is_published(replace(public, cores=12))


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("clock_mhz = 300", "", "clock_mhz is missing"),
        ("cores = 6", "cores = -6", "cores = -6 must be more than zero"),
        ("block = 32", "block = 32.5", "block = 32.5 is not an integer"),
        ("clock_mhz = 300", 'clock_mhz = "300"', "clock_mhz = '300' is not a number"),
        ("clock_mhz = 300", "clock_mhz = inf", "clock_mhz = inf is not a finite number"),
        ("dma_us = 0.0", "dma_us = -0.1", "dma_us = -0.1 must be zero or more"),
        ("cores = 6", "cores = 6\ncoers = 6", "'coers' is not known; the nearest is 'cores'"),
        ('newest = "sdk26"', 'newest = "sdk99"', "no release 'sdk99'"),
        ("cores = 6", "cores = ", "is not TOML"),
        ("io_us = 2.249", "io_us = 0.01", "io_us = 0.01 is less than the host's jitter_us"),
        ("cores = 6", "cores = 12", "12288 multiplications.* has 10848"),
        ("tiles_per_core = 4096", "tiles_per_core = 9000", "110592000 bytes.* has 88211456"),
        ("dsp_blocks = 10848", "", r"\[part\]: dsp_blocks is missing"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(
    tmp_path: Path, before: str, after: str, named: str
) -> None:
    assert before in GOOD
    with pytest.raises(CardError, match=named) as exc_info:
        load_card(write(tmp_path, GOOD.replace(before, after)))
    assert exc_info.value.remedy


def test_a_card_without_a_release_or_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="has no release"):
        load_card(write(tmp_path, GOOD.partition("[releases")[0]))
    with pytest.raises(CardError, match="can't be read"):
        load_card(str(tmp_path / "absent.toml"))


@pytest.mark.parametrize(
    ("card", "figures"),
    [
        ("v80", {"cores": "100", "block": "256", "clock": "2000"}),
        ("ia-840f", {"clock": "751"}),
        ("ia-840f", {"tiles": "2000"}),
    ],
)
def test_a_card_that_its_part_cannot_hold_is_refused(card: str, figures: dict[str, str]) -> None:
    with pytest.raises(Unsupported) as exc_info:
        read_target({"card": card, **figures})
    assert all(f"{name}={value}" in exc_info.value.cause for name, value in figures.items())
    assert exc_info.value.remedy


def test_without_a_part_nothing_is_refused(tmp_path: Path) -> None:
    head, _, tail = GOOD.partition("[part]")
    path = write(tmp_path, head + tail[tail.index("[releases") :])
    card = load_card(path)
    assert (card.part, card.activation_bytes, card.excess) == (None, None, "")
    assert read_target({"card": path, "cores": "100"}).card.cores == 100


def test_the_public_designs_leave_memory_for_activations() -> None:
    """673 Mb less 6 x 4096 tiles of 32 x 32 bf16 numbers, and so on."""
    left = {key: load_card(key).activation_bytes for key in card_keys()}
    assert left == {
        "v80": 673 * 2**20 // 8 - 48 * 2**20,
        "ia-840f": 13272 * 2560 + 45640 * 80 - 12 * 2**20,
        "ia-420f": 7110 * 2560 + 24360 * 80 - 6 * 2**20,
    }
