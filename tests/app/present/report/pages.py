"""A page in a real browser: what is in it after its own script has run."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

from tests.processes import ended

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
)


def answer_in(page: Path, script: str, width: int = 1200) -> Any:
    """What a script has written into the page's element `answer`, in a window so wide; it runs
    after the page's own, and the console says nothing."""
    assert CHROMIUM is not None
    probe_page = page.with_name("tried.html")
    probe_page.write_text(
        page.read_text("utf-8").replace("</body>", f"<script>{script}</script></body>")
    )
    result = ended(
        CHROMIUM,
        *_FLAGS,
        f"--window-size={width},12000",
        f"--user-data-dir={page.parent}/browser",
        "--dump-dom",
        probe_page.as_uri(),
        check=True,
        timeout=120,
    )
    assert ":CONSOLE" not in result.stderr, result.stderr
    match = re.search(r'<pre id="answer">(.*?)</pre>', result.stdout, re.DOTALL)
    assert match is not None
    return json.loads(html.unescape(match[1]))
