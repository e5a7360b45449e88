"""A parser of flags whose mistakes are told as all others of ours, in one sentence."""

from __future__ import annotations

import argparse
from typing import NoReturn

from app.cases.errors import PlanError


class FlagParser(argparse.ArgumentParser):
    """A mistake becomes a PlanError that names the command's own `--help`."""

    def error(self, message: str) -> NoReturn:
        raise PlanError(message, f"see {self.prog} --help")
