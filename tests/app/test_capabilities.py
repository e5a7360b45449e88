"""Every capability has its setting, and every part that its entry names exists."""

from __future__ import annotations

from app.plan.capabilities import CAPABILITIES
from app.plan.settings.table import PLAN_SETTINGS
from exporters import install_layout


def test_every_capability_has_its_setting() -> None:
    assert {row.key for row in PLAN_SETTINGS if row.is_capability} == CAPABILITIES.keys()


def test_every_part_of_a_registered_capability_exists() -> None:
    parts = [
        getattr(capability, name)
        for capability in CAPABILITIES.values()
        for name in capability.__slots__
        if name not in ("found_file", "kind", "worker", "doing")
    ]
    assert all(callable(install_layout.load(f"app.{part}")) for part in parts if part)
