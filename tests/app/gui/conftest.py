"""Real widgets on the offscreen platform, and series as a run folder would give them."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
