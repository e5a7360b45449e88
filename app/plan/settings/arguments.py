"""The flags of a command, declared and read by the table of settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from app.plan.settings.setting import GROUPS, Scope, Setting
from app.plan.settings.table import SETTINGS, accepted_by


def add_arguments(parser: argparse.ArgumentParser, command: str, brief: bool = False) -> None:
    """Add the flags of the settings that a command accepts, in titled groups.

    Earlier spellings are accepted and not listed; neither are uncommon settings in a `brief` help.
    """
    add_settings(parser, accepted_by(command), brief)


def add_settings(
    parser: argparse.ArgumentParser, settings: Iterable[Setting], brief: bool = False
) -> None:
    """Add the flags of these settings, in titled groups."""
    rows = tuple(settings)
    for title in GROUPS:
        group = parser.add_argument_group(title)
        for setting in (row for row in rows if row.group == title):
            _add(group, setting, listed=setting.common or not brief)


def given_settings(options: argparse.Namespace, *scopes: Scope) -> dict[str, Any]:
    """The values of the flags that were given, by key and not validated yet; PlanError for words
    that mean nothing. A command that does not accept a setting has no such flag."""
    given: dict[str, Any] = {}
    for setting in SETTINGS:
        words = getattr(options, setting.dest, None)
        if setting.scope in scopes and words not in (None, False, []):
            value = setting.form.read(words, setting.flag)
            key = setting.extends or setting.key
            given[key] = [*given.get(key, ()), *value] if setting.extends else value
    return given


def _add(group: argparse._ArgumentGroup, setting: Setting, listed: bool) -> None:
    kinds: dict[str, Any] = {"dest": setting.dest, "action": setting.form.action}
    if setting.metavar:
        kinds["metavar"] = setting.metavar
    if setting.form.action == "append":
        kinds["default"] = []
    help_text = setting.help.replace("%", "%%") if listed else argparse.SUPPRESS
    group.add_argument(setting.flag, help=help_text, **kinds)
    for alias in setting.aliases:
        group.add_argument(alias, help=argparse.SUPPRESS, **kinds)
