"""What is read off a plot, in words: a place in a distribution, and a marked range."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.formatting.text import share, time_text
from app.gui.plots.read.brush import Brush
from app.gui.plots.read.lit import LitSamples
from app.tune.ablation import round_name

_BETWEEN_WORDS = " · "
_RARE = 0.1
"""Of samples that are no more than this the time between them is told: it may be a period."""
_MOST_ROUNDS, _MOST_SPANS = 6, 3
_PERIODIC = 1.25
"""Times of which the middle half differ by no more than this are a period."""


def rank_text(below: float) -> str:
    """The share of samples that are faster, with as many nines as it has: 62.1 %, 99.98 %.

    Cut off and not rounded: 99.996 % are not all.
    """
    if below >= 1.0:
        return "100 %"
    nines = -math.log10(1.0 - below)
    digits = max(1, math.floor(nines + 1e-9))
    cut = math.floor(below * 10.0 ** (digits + 2) + 1e-6) / 10.0**digits
    return f"{cut:.{digits}f} %"


def range_text(low_s: float, high_s: float) -> str:
    """`1.20 to 30.0 ms`, each end in its own unit where these differ."""
    if low_s <= 0.0 or math.isinf(high_s):
        if math.isinf(high_s):
            return f"{time_text(low_s, 4)} and more" if low_s > 0.0 else "all"
        return f"below {time_text(high_s, 4)}"
    low, high = time_text(low_s, 4), time_text(high_s, 4)
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def brush_text(brush: Brush) -> str:
    """What was marked."""
    if not brush.spans:
        return range_text(brush.low_s, brush.high_s)
    spans = dict.fromkeys(
        f"{s.first:,} to {s.last:,} of {round_name(s.round)}" for s in brush.spans
    )
    if len(spans) > _MOST_SPANS:
        return f"{len(spans)} stretches of iterations"
    return f"iterations {', '.join(spans)}"


def short_names(labels: Sequence[str]) -> list[str]:
    """Of `cnn_tiny · ort-cpu · batch 4` what not all of these labels have: a box is narrow."""
    words = [label.split(_BETWEEN_WORDS) for label in labels]
    shared = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    kept = [_BETWEEN_WORDS.join(word for word in one if word not in shared) for one in words]
    return [short or label for short, label in zip(kept, labels, strict=True)]


def lit_in_short(lit: LitSamples) -> str:
    """`412 samples, 0.9 %, 31 % of the time, every 4.00 ms`: beside those of other cases."""
    told = [f"{_samples(lit)}, {_part_text(lit.share)}"]
    told.append(f"{_part_text(lit.time_share)} of the time")
    if lit.share <= _RARE and len(lit.gaps_s) >= 2:
        told.append(gaps_text(lit.gaps_s).partition(",")[0])
    return ", ".join(told)


def lit_text(lit: LitSamples) -> str:
    """`412 samples, 0.9 % of the samples, 31 % of the time; 380 in round 2; every 4.00 ms`."""
    if not lit.samples:
        return "no samples"
    told = [
        f"{_samples(lit)}, {_part_text(lit.share)} of the samples, "
        f"{_part_text(lit.time_share)} of the time"
    ]
    told += _by_round([len(lit_of_round) for lit_of_round in lit.rounds])
    if lit.share <= _RARE and len(lit.gaps_s) >= 2:
        told.append(gaps_text(lit.gaps_s))
    return "; ".join(told)


def _samples(lit: LitSamples) -> str:
    return f"{lit.samples:,} {'sample' if lit.samples == 1 else 'samples'}"


def gaps_text(gaps_s: np.ndarray) -> str:
    """The median time from one to the next; where it is no period, half of them lie in a range."""
    first, middle, third = (max(1e-9, q) for q in np.quantile(gaps_s, (0.25, 0.5, 0.75)).tolist())
    if third <= _PERIODIC * first:
        return f"every {time_text(middle)}"
    return f"{time_text(middle)} apart in the median, half of them {range_text(first, third)}"


def _part_text(part: float) -> str:
    """A share that is rounded to all of it only where it is all."""
    return rank_text(part) if 0.9 < part < 1.0 else share(part)


def _by_round(counts: Sequence[int]) -> list[str]:
    """Where most are of one round it is that one, else how many are of each."""
    if len(counts) < 2:
        return []
    most = max(counts)
    if 2 * most > sum(counts):
        return [f"{most:,} in round {counts.index(most) + 1}"]
    if len(counts) <= _MOST_ROUNDS:
        return [f"by round {', '.join(f'{count:,}' for count in counts)}"]
    return [f"{min(counts):,} to {most:,} in a round"]
