"""Student's t, chi-square, the beta and the binomial distribution, numbers in and out, from scipy.

scipy takes longer to load than most of this program: whoever shows no interval yet, as a window
that opens, goes without it until the first is asked for.
"""

from __future__ import annotations

from functools import lru_cache

_KEPT = 4096
"""Quantiles that are kept: the cases of a run ask for the same few."""


@lru_cache(maxsize=_KEPT)
def t_quantile(freedom: float, share: float) -> float:
    """What so large a share of Student's t with so many degrees of freedom lies below."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def t_share(freedom: float, value: float) -> float:
    """Which share of Student's t with so many degrees of freedom lies below the value."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def noncentrality(freedom: float, value: float, share: float) -> float:
    """That of the noncentral t of which so large a share lies below the value."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, share, value))


@lru_cache(maxsize=_KEPT)
def chi_square_quantile(freedom: float, share: float) -> float:
    """What so large a share of the chi-square distribution lies below."""
    from scipy.special import chdtri

    return float(chdtri(freedom, 1.0 - share))


def beta_quantile(a: float, b: float, share: float) -> float:
    """What so large a share of the beta distribution with these two shapes lies below."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, share))


def binomial_share(most: int, tries: int, chance: float) -> float:
    """How likely so many successes or fewer are in so many tries."""
    from scipy.special import bdtr

    return float(bdtr(most, tries, chance))
