"""`graphlap completion`: a script that completes commands, options and names in a shell.

It is made of the parsers, so that it has every option that the help shows, and of tables that no
engine is imported for. It calls nothing while it completes; make it anew after an update.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from app.commands.output import print_text
from app.commands.pages import PAGES
from app.commands.parsers import parser_of
from app.commands.table import BY_NAME, COMMANDS
from app.console.export_formats import FORMATS as EXPORT_FORMATS
from app.console.regression_gate import GATES
from app.plan.plan import named_lengths
from app.plan.plan_files import suite_names
from app.plan.studies import study_names
from app.present.terminal import FORMATS
from exporters.models import catalogue
from exporters.types import PRECISIONS
from runtimes import registry

_SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=_SHELLS, help="bash, zsh or fish")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    return print_text({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]())


def _values() -> Mapping[str, Sequence[str]]:
    """The values of options and arguments that have a closed set of them, by their names."""
    models = (*catalogue.names(), *suite_names())
    return {
        "named": models,
        "models": catalogue.names(),
        "suite": suite_names(),
        "runtimes": (*registry.names(), "all", "available"),
        "name": registry.names(),
        "precision": PRECISIONS,
        "profile": tuple(named_lengths()),
        "format": FORMATS,
        "formats": tuple(EXPORT_FORMATS),
        "export": tuple(EXPORT_FORMATS),
        "fail_on": GATES,
        "study": study_names(),
        "topic": (*PAGES, *BY_NAME),
    }


def _actions(name: str) -> list[argparse.Action]:
    """The options and arguments of a command that its help shows."""
    actions = parser_of(BY_NAME[name])._actions
    return [action for action in actions if action.help != argparse.SUPPRESS]


def _words_of(action: argparse.Action) -> Sequence[str]:
    """What a value may be; () for a file, a number or a text."""
    if action.nargs == 0:
        return ()
    return tuple(map(str, action.choices or _values().get(action.dest, ())))


def _takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0 and bool(action.option_strings)


def _bash() -> str:
    return "\n".join(_bash_lines()) + "\n"


def _bash_lines() -> Iterator[str]:
    yield _BASH_HEAD
    yield f'        arguments="{" ".join((*BY_NAME, *suite_names()))}"'
    yield "    else"
    yield '        case "${COMP_WORDS[1]}" in'
    for command in COMMANDS:
        actions = _actions(command.name)
        options = [name for action in actions for name in action.option_strings]
        positional = [w for a in actions if not a.option_strings for w in _words_of(a)]
        yield f"        {command.name})"
        yield f'            options="{" ".join(options)}"'
        yield f'            arguments="{" ".join(positional)}"'
        yield '            case "$before" in'
        for action in filter(_takes_value, actions):
            words = " ".join(_words_of(action))
            files = 0 if words else 1
            yield f"                {'|'.join(action.option_strings)})"
            yield f'                    arguments="{words}" options="" lists=1 files={files} ;;'
        yield "            esac ;;"
    yield _BASH_TAIL


_BASH_HEAD = """\
# Completion of graphlap for bash: `source` it, or put it among bash's completions.
_graphlap() {
    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local options="" arguments="" prefix="" lists=0 files=1 file
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then"""
_BASH_TAIL = """\
        esac
    fi
    case "$current" in
        -*) arguments="$options" files=0 ;;
        *,*) [ "$lists" = 1 ] && prefix="${current%,*}," && current="${current##*,}" ;;
    esac
    COMPREPLY=($(compgen -P "$prefix" -W "$arguments" -- "$current"))
    if [ "$files" = 1 ]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r file; do
            COMPREPLY+=("$file")
        done < <(compgen -f -- "$current")
    fi
}
complete -F _graphlap graphlap"""


def _zsh() -> str:
    """Of bash's, which zsh runs by its own compatibility."""
    return f"#compdef graphlap\nautoload -U +X bashcompinit && bashcompinit\n{_bash()}"


def _fish() -> str:
    return "\n".join(_fish_lines()) + "\n"


def _fish_lines() -> Iterator[str]:
    yield "# Completion of graphlap for fish: put it into ~/.config/fish/completions/graphlap.fish"
    for command in COMMANDS:
        summary = _fish_quoted(command.summary)
        yield f"complete -c graphlap -n __fish_use_subcommand -a {command.name} -d {summary}"
    for command in COMMANDS:
        condition = f"'__fish_seen_subcommand_from {command.name}'"
        for action in _actions(command.name):
            words = _words_of(action)
            if not action.option_strings:
                if words:
                    yield f"complete -c graphlap -n {condition} -a {_fish_quoted(' '.join(words))}"
                continue
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in action.option_strings
            )
            value = f" -x -a {_fish_quoted(' '.join(words))}" if words else ""
            required_flag = " -r" if _takes_value(action) and not words else ""
            text = _fish_quoted((action.help or "").replace("%%", "%"))
            yield f"complete -c graphlap -n {condition} {names}{required_flag}{value} -d {text}"


def _fish_quoted(text: str) -> str:
    escaped_text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped_text}'"
