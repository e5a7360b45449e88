"""A page in a real browser: what is in it after its own script has run."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

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


def rendered(
    page: Path, script: str = "", dark: bool = False, width: int = 1200
) -> tuple[str, list[str]]:
    """The page's elements when it has come to rest, and what its console said; `script` runs in it
    after its own, the window is so wide, and who looks at it prefers a `dark` page."""
    assert CHROMIUM is not None
    probe_page = page.with_name("tried.html")
    probe_page.write_text(
        page.read_text("utf-8").replace("</body>", f"<script>{script}</script></body>")
    )
    flags = (
        *_FLAGS,
        f"--window-size={width},12000",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    )
    result = subprocess.run(
        [
            CHROMIUM,
            *flags,
            f"--user-data-dir={page.parent}/browser",
            "--dump-dom",
            probe_page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = [line for line in result.stderr.splitlines() if ":CONSOLE" in line]
    return result.stdout, console


def answer_in(page: Path, script: str, dark: bool = False, width: int = 1200) -> Any:
    """What a script has written into its element `answer`; the console says nothing."""
    elements, console = rendered(page, script, dark, width)
    assert not console
    match = re.search(r'<pre id="answer">(.*?)</pre>', elements, re.DOTALL)
    assert match is not None
    return json.loads(html.unescape(match[1]))
