"""A plan -> the command line that measures the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.plan.command_line import parse
from app.plan.estimate import EXPAND_UP_TO, estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.settings.forms import flag_words
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS, default_of
from app.plan.shell import shell_line
from app.plan.toml_text import plan_toml
from exporters import own
from exporters.types import GraphlapError

_CHECK = "--check"


def command_line(plan: Plan, plan_folder: Path) -> str:
    """One line for a shell: flags if they can say it all, else `--plan` with a file.

    The flags are read back and must give the very same cases and lengths; the file, where
    one is needed, is written to `plan_folder`. A plan of very many cases always gets a file.
    """
    line = flags_line(plan)
    if line is None:
        plan_folder.mkdir(parents=True, exist_ok=True)
        file = plan_folder / f"{plan.name}.toml"
        file.write_text(plan_toml(plan), "utf-8")
        line = _line(["--plan", str(file)])
    return line


def flags_line(plan: Plan) -> str | None:
    """The same where flags can say it all, which are read back; None where they can't."""
    words = plan_words(plan)
    return None if words is None else _line(words)


def plan_words(plan: Plan) -> list[str] | None:
    """The flags alone of such a line, without the program."""
    words = list(flags_of(plan))
    return words if _says_the_same(words, plan) else None


def command_words(words: Sequence[str]) -> tuple[str, ...]:
    """The command that takes such flags, and those of them that it does not say itself."""
    if _CHECK in words:
        return ("check", *(word for word in words if word != _CHECK))
    return ("run", *words)


def _line(words: Sequence[str]) -> str:
    return shell_line([*own.PROGRAM.split(), *command_words(words)])


def _says_the_same(words: Sequence[str], plan: Plan) -> bool:
    if estimate(plan).cases > EXPAND_UP_TO:
        return False
    try:
        told = plan_from_options(parse(words))
        besides = {"name", "sweeps"}
        if told.model_dump(exclude=besides) != plan.model_dump(exclude=besides):
            return False
        return [c.case_id for c in expand(told)] == [c.case_id for c in expand(plan)]
    except GraphlapError:
        return False


def flags_of(plan: Plan) -> Iterator[str]:
    """The flags of the first grid and of the whole plan; what they can't say is left out."""
    for part, settings in ((plan.sweeps[0], SWEEP_SETTINGS), (plan, PLAN_SETTINGS)):
        for setting in settings:
            value = getattr(part, setting.key)
            if value != default_of(setting):
                yield from flag_words(setting.flag, setting.form, value)
