"""What an environment lacks is told with what installs it there, and nothing of ours."""

from __future__ import annotations

import pytest

from runtimes.registry import environment_of, release_of, remedy_in


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("pip install 'graphlap[cpu]'", "/e/python -m pip install onnxruntime"),
        (
            "pip uninstall onnxruntime, then pip install --upgrade 'graphlap[gpu]'",
            "pip uninstall onnxruntime, then /e/python -m pip install --upgrade onnxruntime-gpu",
        ),
        ("pip install 'graphlap[new]'", "/e/python -m pip install 'graphlap[new]'"),
        ("pip install somebodys, or leave it", "/e/python -m pip install somebodys, or leave it"),
        ("use another runtime", "use another runtime"),
    ],
)
def test_a_remedy_is_for_the_environment_that_lacks_something(here: str, there: str) -> None:
    assert remedy_in("/e/python", here) == there
    assert remedy_in("/e/python", there) == there, "said by a child of it already"


def test_only_a_card_has_releases_of_its_own() -> None:
    runtime_names = ("ort-cpu:0@old", "fpga:v80@sdk26", "of-another-release@old", "ort-cpu")
    assert [environment_of(name) for name in runtime_names] == ["old", "", "", ""]
    assert [release_of(name) for name in runtime_names] == ["", "sdk26", "old", ""]
