"""From a case to how its runtime compiles it: the same for its rounds, profile and accuracy.

All of them so run the engine that is kept, where the runtime keeps one.
"""

from __future__ import annotations

from app.cases.case import Case
from runtimes.environment import release_of
from runtimes.options import Settings
from runtimes.registry import parse_spec


def settings_of(case: Case, cache_dir: str = "", operator_times: bool = False) -> Settings:
    """What `case` asks of its runtime; with `operator_times`, of a session that tells them.

    `cache_dir` is where the engine may keep what it compiled, empty for nowhere.
    """
    spec = parse_spec(case.runtime)
    return Settings(
        precision=case.precision,
        threads=case.threads,
        device=spec.device,
        release=release_of(case.runtime),
        options=case.options,
        cache_dir=cache_dir,
        operator_times=operator_times,
    )
