"""A line that is pasted into a shell gives the words themselves, and steers no terminal."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from app.plan.command import shell_line
from tests.app.hostile import OF_FILES, steering

WORDS = ["--models", *OF_FILES, "", "\x1b[201~\nrm -r x\n1", "it's"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_reads_the_words_back() -> None:
    line = shell_line(WORDS)
    assert not steering(line)
    assert "\n" not in line
    result = subprocess.run(
        [b"bash", b"-c", os.fsencode(f"printf '%s\\0' {line}")], capture_output=True, check=True
    )
    assert result.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in WORDS]


def test_plain_words_stay_as_they_are() -> None:
    assert shell_line(["graphlap", "--models", "a b.onnx"]) == "graphlap --models 'a b.onnx'"
