"""In the place of a measuring process: says where it is, writes samples, reads a file, ends.

Its job: `samples` (a path), `blocks` of `block_bytes`, `pause_s` after each, `file` (a path).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[4]))
    from exporters.child_setup import belong_to_parent

    belong_to_parent()
    job = json.loads(sys.stdin.readline())
    environ, cores = dict(os.environ), sorted(os.sched_getaffinity(0))
    _say({"event": "began", "pid": os.getpid(), "environ": environ, "cores": cores})
    if "file" in job:
        _say({"event": "read", "text": Path(job["file"]).read_text("utf-8")})
    with Path(job["samples"]).open("wb", buffering=0) as samples:
        for number in range(job["blocks"]):
            samples.write(bytes([number % 251]) * job["block_bytes"])
            time.sleep(job["pause_s"])
    _say({"event": "result"})


def _say(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
