"""A real export process for the exporters' tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from exporters import install_layout
from exporters.cache import Store
from exporters.codec import from_json, to_json
from exporters.messages import ExportReply, ExportRequest
from tests.checkout import ROOT


class WorkerProcess:
    """A real export process; `ask` sends one request and waits for its reply."""

    def __init__(
        self, cache: Path, command: Sequence[str] = install_layout.command("exporters.worker")
    ) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # A factory file of ours may import what lies beside the tests.
            env=install_layout.child_environment(
                {"PYTHONPATH": str(ROOT), **os.environ, "GRAPHLAP_CACHE": str(cache)}
            ),
        )

    def ask(self, request: ExportRequest) -> ExportReply:
        return self.say(json.dumps(to_json(request)))

    def say(self, line: str) -> ExportReply:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply_line = next(text for text in self.process.stdout if text.strip())
        return from_json(ExportReply, json.loads(reply_line))

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


def stored(store: Store, key: str, content: bytes) -> Path:
    """Put an entry with one file of this content; its facts are its size."""
    with store.scratch() as folder:
        path = folder / "model.onnx"
        path.write_bytes(content)
        return store.put(key, {"size": len(content)}, {"model": path}).files["model"]
