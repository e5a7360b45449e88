"""One value beside the default for every setting of a plan and of a grid."""

from __future__ import annotations

from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS, sample_of

SWEEP = {row.key: sample_of(row) for row in SWEEP_SETTINGS}
PLAN = {row.key: sample_of(row) for row in PLAN_SETTINGS}
