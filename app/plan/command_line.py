"""Settings as options of a command line: declared, parsed and validated."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

from app.cases.errors import PlanError, suggestion
from app.cases.setting import GROUPS, Scope, Setting
from app.plan.settings.table import SETTINGS, accepted_by


def add_settings(
    parser: argparse.ArgumentParser,
    command: str,
    brief: bool = False,
    excluded_keys: Collection[str] = (),
) -> None:
    """Add the flags of the settings that a command accepts, but for the `excluded_keys`, in titled
    groups; with `brief` only the common ones are in its help."""
    _add_rows(parser, [row for row in accepted_by(command) if row.key not in excluded_keys], brief)


def _add_rows(
    parser: argparse.ArgumentParser, rows: Sequence[Setting], brief: bool = False
) -> None:
    for title in GROUPS:
        group = parser.add_argument_group(title)
        for setting in (row for row in rows if row.group == title):
            _add(group, setting, listed=setting.common or not brief)


def explicit_settings(options: argparse.Namespace, *scopes: Scope) -> dict[str, Any]:
    """The values of the flags that were given, by key and not validated yet; PlanError for words
    that mean nothing. A command that does not accept a setting has no such flag."""
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        words = getattr(options, setting.dest, None)
        if setting.scope in scopes and words not in (None, False, []):
            value = setting.form.read(words, setting.flag)
            key = setting.extends or setting.key
            values[key] = [*values.get(key, ()), *value] if setting.extends else value
    return values


def _add(group: argparse._ArgumentGroup, setting: Setting, listed: bool) -> None:
    kinds: dict[str, Any] = {"dest": setting.dest, "action": setting.form.action}
    if setting.metavar:
        kinds["metavar"] = setting.metavar
    if setting.form.action == "append":
        kinds["default"] = []
    help_text = setting.help.replace("%", "%%") if listed else argparse.SUPPRESS
    group.add_argument(setting.flag, help=help_text, **kinds)


_UNSET: tuple[object, ...] = (None, False, [])


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Every setting by the name of its value, as a run without a command has it, such as the part
    of a study; PlanError for a word that is no setting."""
    parser = FlagParser(prog="graphlap", allow_abbrev=False)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--study")
    parser.add_argument("--resume")
    parser.add_argument("--debug", action="store_true")
    parser.set_defaults(quiet=False, verbose=False, format="table", models_named=False)
    _add_rows(parser, SETTINGS)
    options, rest = parser.parse_known_args(words)
    if rest:
        names = [setting.flag for setting in SETTINGS]
        raise PlanError(f"{rest[0]} is not known", suggestion(rest[0].partition("=")[0], names))
    return options


def with_all_settings(options: argparse.Namespace) -> argparse.Namespace:
    """The options, and of every setting that the command does not accept that it is not given."""
    return argparse.Namespace(**{**vars(parse([])), **vars(options)})


def reject_with_study(flags: argparse.Namespace) -> None:
    """A study says what it measures, and of a run that is there all is said; PlanError for more."""
    accepted_settings = accepted_by("study")
    if flags.resume is not None:
        resume_rows = [row for row in accepted_by("resume") if row in accepted_settings]
        command_rows = [row for row in resume_rows if row.scope == "command"]
        _reject_except(command_rows, flags, "the run in --resume")
    elif flags.paths:
        _reject_except((), flags, f"the run {flags.paths[0]}")
    if len(flags.paths) > 1:
        raise PlanError(f"a study pages one run, and {len(flags.paths)} are named", "name one")


def reject_with_check(flags: argparse.Namespace, origin: str) -> None:
    """What a check does not read, such as what figures are compared with; PlanError.

    `origin` names the file or plan that made it a check, "" where the command did.
    """
    for flag in _excess_flags(accepted_by("check"), flags):
        cause = f"{flag} cannot be used with a check, which measures nothing"
        if not origin:
            raise PlanError(cause, f"remove {flag}")
        raise PlanError(
            f"{origin}: check = true, and {cause}", f"remove check = true there, or {flag} here"
        )


def reject_with_run_as_plan(flags: argparse.Namespace) -> None:
    """A run that is repeated has settled its plan; only where to is new."""
    rows = [row for row in SETTINGS if row.key == "plan"]
    _reject_except([*accepted_by("rerun"), *rows], flags, "the run that is repeated")


def _reject_except(
    accepted_settings: Sequence[Setting], flags: argparse.Namespace, settler: str
) -> None:
    for flag in _excess_flags(accepted_settings, flags):
        raise PlanError(f"{flag} cannot be used with {settler}, which sets it", "remove it")


def _excess_flags(accepted_settings: Sequence[Setting], flags: argparse.Namespace) -> Iterator[str]:
    """The flags of settings that were given and are not among these."""
    for setting in SETTINGS:
        if setting not in accepted_settings and getattr(flags, setting.dest, None) not in _UNSET:
            yield setting.flag


class FlagParser(argparse.ArgumentParser):
    """A mistake becomes a PlanError that names the command's own `--help`."""

    def error(self, message: str) -> NoReturn:
        raise PlanError(message, f"see {self.prog} --help")
