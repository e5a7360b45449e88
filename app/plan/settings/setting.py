"""The row of one setting: all that the program knows about it beside its type and default.

A setting of a plan stands on its field of the model, `key: Annotated[TYPE, Setting(...)] =
DEFAULT`, so that pydantic has the type, the bounds and the default and nothing repeats them. A
setting that is no part of a plan, such as `--out`, stands in `outputs.py` with its key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.plan.settings.forms import Form

Scope = Literal["plan", "sweep", "command"]
"""Of the whole plan, of each of its grids, or of the command alone."""

NEW = ("run", "slo", "tune", "noise")
"""The commands that measure a new plan."""
PLANNED = (*NEW, "open")
"""Those that make a plan: the window lays it out in its editor."""
MEASURED = (*NEW, "resume", "rerun", "study")
"""The commands after which a run has been measured."""
WORK, LENGTH, ALSO, COMPARISON, MODEL, PLACE, OUTPUT = GROUPS = (
    "what to measure",
    "how long",
    "also measure",
    "comparison",
    "inputs and parts of models",
    "limits and places",
    "output",
)
"""The titles below which help and documentation list settings."""
FIGURES_FOLD, LIMITS_FOLD, PLACES_FOLD, FILES_FOLD = FOLDS = (
    "Figures and verdicts of the sweep",
    "Limits and checks of the sweep",
    "Where it runs",
    "Files and parts of models",
)
"""The titles of the window's form for a whole plan."""


def never(value: Any) -> bool:
    """No value makes the program run code."""
    return False


def always(value: Any) -> bool:
    """Every value that is set does."""
    return bool(value)


def loads_library(runtime: str) -> bool:
    """A runtime that is an execution provider of a package or of a library, which is loaded."""
    return runtime.partition(":")[0] == "ort-ep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`form` reads the words of the flag and writes them; `aliases` are earlier spellings that stay
    readable, of which the last names the value in a namespace of arguments.

    `commands` accept it, and `common` ones are listed by their short help. `runs_code` says of a
    value whether it makes the program run code: the configuration file of a project must not have
    such a one.
    `toml` is its key in a plan file where that is not the field's name, which stays readable.

    For the window, `label` and `example` make a row of the form below the title `fold`, and `term`
    is its entry of the glossary. For the documentation, `values` say what it takes, `absent` what
    holds without it, and `notes` are more than `help` has room for.
    """

    flag: str
    help: str
    form: Form
    group: str
    commands: tuple[str, ...] = PLANNED
    metavar: str = ""
    aliases: tuple[str, ...] = ()
    common: bool = False
    runs_code: Callable[[Any], bool] = never
    toml: str = ""
    label: str = ""
    term: str = ""
    example: str = ""
    fold: str = ""
    values: str = ""
    absent: str = ""
    notes: str = ""
    extends: str = ""
    """The key of a list to which the values are added, of a setting that has no field."""
    key: str = ""
    scope: Scope = "command"

    @property
    def dest(self) -> str:
        """The name of its value in a namespace of arguments."""
        oldest = self.aliases[-1] if self.aliases else self.flag
        return oldest.removeprefix("--").replace("-", "_")

    @property
    def glossary_term(self) -> str:
        """Its entry of the window's glossary."""
        return self.term or self.label.lower()

    @property
    def name(self) -> str:
        """The key by which files have it."""
        return self.toml or self.key

    @property
    def spellings(self) -> tuple[str, ...]:
        """The flag and its earlier spellings."""
        return (self.flag, *self.aliases)
