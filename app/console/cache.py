"""`--cache-info` and `--cache-clear`: the export cache, for people."""

from __future__ import annotations

from exporters import cache


def cache_text(clear: bool) -> str:
    """What the cache holds, after emptying it of all that no running plan needs if asked to."""
    freed = f"freed     {_gib(cache.clear())}\n" if clear else ""
    info = cache.info()
    return (
        f"{freed}cache     {info.path}\n"
        f"exports   {info.entries:,} in {info.files:,} files\n"
        f"size      {_gib(info.size_bytes)} of {_gib(cache.default_limit_bytes())}\n"
        f"in use    {_gib(info.in_use_bytes)} by plans that run now\n"
    )


def _gib(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"
