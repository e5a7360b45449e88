"""`--cache-info` and `--cache-clear`: the cache of exports and engines, for people."""

from __future__ import annotations

from app.machine import engines
from exporters import cache


def cache_text(clear: bool) -> str:
    """What the cache holds, after emptying it of all that no running plan needs if asked to."""
    freed = f"freed     {_size(_clear())}\n" if clear else ""
    info = cache.info()
    return (
        f"{freed}cache     {info.path}\n"
        f"exports   {info.entries:,} in {info.files:,} files\n"
        f"size      {_size(info.size_bytes)} of {_size(cache.default_limit_bytes())}\n"
        f"in use    {_size(info.in_use_bytes)} by plans that run now\n"
        f"engines   {_size(engines.size_bytes())} that runtimes compiled, not in the size above\n"
    )


def _clear() -> int:
    """Engines go too, but for while a plan runs: nobody knows which of them it needs."""
    freed = cache.clear()
    return freed if cache.info().in_use_bytes else freed + engines.clear()


def _size(count: int) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
