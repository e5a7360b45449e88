"""What stands behind the `@` of a runtime's name: a release of its own, or an environment."""

from __future__ import annotations

import re

from runtimes.faults import NotAvailable
from runtimes.registry import load, parse_spec

_PACKAGES = {
    "accuracy": "scikit-learn pillow",
    "cpu": "onnxruntime",
    "gpu": "onnxruntime-gpu",
    "openvino": "openvino",
    "tensorrt": "tensorrt-cu13",
    "tensorrt-rtx": "tensorrt-rtx-cu12-bindings tensorrt-rtx-cu12-libs",
    "torch": "torch",
}
"""An extra of ours -> what an environment needs of it: the engine, or what reads images."""
_INSTALL = re.compile(r"(?<!-m )pip install ((?:--\S+ )*)('graphlap\[([\w-]+)\]')?")


def environment_of(text: str) -> str:
    """The environment that `name[:device][@environment]` names, empty for the one we run in.

    Of a name that is not known it is empty too: a run folder may hold runtimes of another release.
    """
    spec = parse_spec(text)
    try:
        ours = not spec.release or load(spec.name).has_releases
    except NotAvailable:
        return ""
    return "" if ours else spec.release


def release_of(text: str) -> str:
    """The release of `name[:device][@release]`, empty for the newest and for what has none."""
    return "" if environment_of(text) else parse_spec(text).release


def remedy_in(python: str, text: str) -> str:
    """A remedy for the environment of this interpreter: its own pip, and nothing of ours."""

    def there(found: re.Match[str]) -> str:
        packages = _PACKAGES.get(found[3], found[2] or "")
        return f"{python} -m pip install {found[1]}{packages}"

    return _INSTALL.sub(there, text)
