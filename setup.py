"""Packages -> a wheel that owns one name in site-packages, `graphlap`, with all others inside it.

In a checkout `app`, `assets`, `exporters` and `runtimes` are packages of their own. Two
distributions with an `app/__init__.py` would overwrite each other, so the wheel holds ours as
`graphlap.app` and so on, and their import statements are rewritten on the way. Strings are
left alone: a module that is named in one goes through `exporters/install_layout.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from shutil import rmtree
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

ROOMS = ("app", "assets", "exporters", "runtimes")
# What lies in app/api is `graphlap` itself.
PACKAGES = find_packages(include=[f"{room}*" for room in ROOMS], exclude=["app.api*"])


def inside_graphlap(source: str, file: str) -> str:
    """The source of a module with `from ROOM import …` turned into `from graphlap.ROOM import …`.

    ImportError, with file and line, for any other statement that imports one of ours.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, file)):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module or ""):
            line, start = lines[node.lineno - 1], node.col_offset
            lines[node.lineno - 1] = line[:start] + line[start:].replace("from ", _FROM, 1)
        elif isinstance(node, ast.Import):
            for module in (alias.name for alias in node.names if _is_ours(alias.name)):
                raise ImportError(
                    f"{file}:{node.lineno}: `import {module}` can't be moved into the wheel; "
                    "write it as `from … import …`"
                )
    return "".join(lines)


_FROM = "from graphlap."


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ROOMS


class _BuildPy(build_py):  # type: ignore[misc]  # setuptools has no types
    def run(self) -> None:
        # What an earlier build left behind would be packed too.
        rmtree(self.build_lib, ignore_errors=True)
        super().run()

    def build_module(self, module: str, module_file: str, package: Any) -> Any:
        built, copied = super().build_module(module, module_file, package)
        source = Path(module_file).read_text("utf-8")
        Path(built).write_text(inside_graphlap(source, module_file), "utf-8")
        return built, copied


class _Editable(editable_wheel):  # type: ignore[misc]
    """An editable install finds the checkout's packages under their own names."""

    def finalize_options(self) -> None:
        self.distribution.packages = ["graphlap", *PACKAGES]
        for extension in self.distribution.ext_modules:
            extension.name = extension.name.removeprefix("graphlap.")
        super().finalize_options()


if __name__ == "__main__":
    setup(
        packages=["graphlap", *(f"graphlap.{package}" for package in PACKAGES)],
        cmdclass={"build_py": _BuildPy, "editable_wheel": _Editable},
    )
