"""Command lines for a shell: of a plan, of one case of a run, and of this program itself."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.dimensions import GRID
from app.cases.setting import flag_words
from app.plan.command_line import parse
from app.plan.estimate import EXPAND_UP_TO, estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.plan_files import plan_toml
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS, default_of
from exporters import install_layout
from exporters.model_names import is_null, original_of
from exporters.types import GraphlapError
from runtimes.options import quoted
from runtimes.registry import parse_spec

_QUOTE = "'"


def shell_line(words: Iterable[str]) -> str:
    r"""Each word quoted where it has to be.

    What a terminal would act on while it is pasted, and bytes of a name that are no text, stand as
    escapes in `$'…'`, which bash, zsh and ksh have, and sh by POSIX.1-2024.
    """
    return " ".join(shlex.quote(w) if w.isprintable() else f"${quoted(w, _QUOTE)}" for w in words)


_SCRIPT = "graphlap"
_MODULE = "__main__.py"
_PACKAGES = tuple(Path(__file__).parents[1:3])
"""`app`, and the package that holds it where we are installed."""


def graphlap_line(*words: str, shell_folder: Path | None = None) -> str:
    """A command line of this program, to be pasted into a shell whose folder is `shell_folder`."""
    return shell_line([*program(shell_folder), *words])


def program(shell_folder: Path | None = None) -> tuple[str, ...]:
    """`graphlap` if the shell finds this one, else its path; `python -m app` if it was started so
    and the shell finds no `graphlap` of the same environment.

    Where another program holds us, as a notebook does, the usual words.
    """
    program_path = Path(sys.argv[0] if sys.argv else "")
    if program_path.name == _SCRIPT:
        return (_command(program_path, shell_folder),)
    if program_path.name == _MODULE and program_path.parent in _PACKAGES and sys.executable:
        if _has_own_script():
            return (_SCRIPT,)
        package = install_layout.PREFIX.rstrip(".") or "app"
        return _command(Path(sys.executable), shell_folder), "-m", package
    return tuple(install_layout.PROGRAM.split())


def _has_own_script() -> bool:
    """Whether the shell finds a `graphlap` of this environment that runs this very copy."""
    script = shutil.which(_SCRIPT)
    if script is None or Path(script).absolute().parent != Path(sys.executable).parent:
        return False
    return any(map(_is_this_copy, distributions(name=_SCRIPT)))


def _is_this_copy(package: Distribution) -> bool:
    """Folders of sources that a wheel was built in have one too, which is not installed."""
    origin = json.loads(package.read_text("direct_url.json") or "{}").get("url")
    root = _PACKAGES[-1]
    return origin == root.as_uri() or Path(str(package.locate_file(root.name))) == root


def typed_path(path: Path, shell_folder: Path | None = None) -> str:
    """A path as it is typed in `shell_folder`: relative where it lies below."""
    try:
        return str(path.absolute().relative_to(shell_folder or Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _command(path: Path, shell_folder: Path | None) -> str:
    """What a shell calls a program: its name where that is what it finds. An interpreter of an
    environment is a link to another one, so links are not followed."""
    executable = shutil.which(path.name)
    if executable is not None and Path(executable).absolute() == path.absolute():
        return path.name
    typed_text = typed_path(path, shell_folder)
    return typed_text if os.sep in typed_text else f"./{typed_text}"


_COMPARISON_DEFAULTS: dict[str, Any] = {"baseline": "", "aa": None, "budget_s": None}
"""What compares cases with each other, or shares time out among them."""
_SIZES = {"batch": "batch_size", "sequence": "sequence_length"}


def single_case_plan(plan: Plan, case: Case) -> Plan:
    """`plan` is that of the run; a null twin is measured with the case that it belongs to."""
    words: dict[str, Any] = {d.key: (_word(d.key, getattr(case, d.name)),) for d in GRID}
    sizes = {} if case.batcher or case.condition.shapes else dict(case.axes)
    size_lists: dict[str, Any] = {k: (sizes.pop(n),) for n, k in _SIZES.items() if n in sizes}
    runtime = parse_spec(case.runtime).name
    sweep = Sweep(
        models=(original_of(case.model),),
        runtimes=(case.runtime,),
        axes={name: (size,) for name, size in sizes.items()},
        options={f"{runtime}.{name}": (value,) for name, value in case.options.items()},
        wait_policy=case.wait_policy,
        **size_lists,
        **words,
    )
    null = {"null": plan.null and is_null(case.model)}
    return plan.model_copy(update={"sweeps": (sweep,), **_COMPARISON_DEFAULTS, **null})


def _word(key: str, value: Any) -> Any:
    """What a grid holds for what the case holds."""
    if value is None:
        return "none"
    return value if key in ("precisions", "threads") else str(value)


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
    return words if _is_equivalent(words, plan) else None


def command_words(words: Sequence[str]) -> tuple[str, ...]:
    """The command that takes such flags, and those of them that it does not say itself."""
    if _CHECK in words:
        return ("check", *(word for word in words if word != _CHECK))
    return ("run", *words)


def _line(words: Sequence[str]) -> str:
    return shell_line([*install_layout.PROGRAM.split(), *command_words(words)])


def _is_equivalent(words: Sequence[str], plan: Plan) -> bool:
    if estimate(plan).cases > EXPAND_UP_TO:
        return False
    try:
        parsed_plan = plan_from_options(parse(words))
        excluded_keys = {"name", "sweeps"}
        if parsed_plan.model_dump(exclude=excluded_keys) != plan.model_dump(exclude=excluded_keys):
            return False
        return [c.case_id for c in expand(parsed_plan)] == [c.case_id for c in expand(plan)]
    except GraphlapError:
        return False


def flags_of(plan: Plan) -> Iterator[str]:
    """The flags of the first grid and of the whole plan; what they can't say is left out."""
    for part, settings in ((plan.sweeps[0], SWEEP_SETTINGS), (plan, PLAN_SETTINGS)):
        for setting in settings:
            value = getattr(part, setting.key)
            if value != default_of(setting):
                yield from flag_words(setting.flag, setting.form, value)
