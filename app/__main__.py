"""`graphlap` and `python -m app`: the flags decide between the window and the batch mode."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from app.cases.errors import DiskError, PlanError
from app.cases.verdict import BAND
from app.console.error_file import write_error_file
from app.console.lasting import Lasting
from app.machine.system import refuse_other_systems
from app.plan.command_line import parse
from app.plan.settings.arguments import given_settings
from app.plan.settings.forms import parsed
from app.plan.settings.values import size_in_bytes
from app.results.plain import one_line, printable
from exporters.types import GraphlapError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; every error of ours is one sentence and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _open_what_is_closed()
    try:
        return _dispatch(given)
    except GraphlapError as error:
        if "--debug" in given:
            raise
        _say(str(error))
        if isinstance(error, DiskError):
            return 1
        write_error_file(error)
        return 2
    except OSError as error:
        if "--debug" in given or error.errno not in _OF_A_USER:
            raise
        if error.errno != errno.ENAMETOOLONG:
            _say(f"a process or a file can't be opened ({error.strerror}): raise ulimit -n")
            return 2
        named = str(error.filename)
        _say(f"a path of {len(named)} characters is too long ({named:.40}…): give a shorter one")
        return 2
    except KeyboardInterrupt:
        return 130


_OF_A_USER = (errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE)


def _say(sentence: str) -> None:
    told = Lasting(sys.stderr)
    told.write(f"graphlap: {one_line(sentence)}\n")
    told.flush()


def _print(text: str) -> int:
    """Write it to standard output; returns the exit code. Nothing in it steers a terminal."""
    out = Lasting(sys.stdout)
    out.write("\n".join(map(printable, text.split("\n"))))
    out.flush()
    if out.lost and out.fault:
        _say(f"standard output can't be written ({out.fault.strerror})")
    return int(out.fault is not None)


def _open_what_is_closed() -> None:
    """A file of ours must not become the descriptor to which libraries print."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))


def _dispatch(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] == "worker":
        from app.carriers.worker import main as worker

        refuse_other_systems()
        return worker(arguments[1:])
    if arguments and arguments[0] == "card":
        from app.console.card import card_command
        from app.console.width import width_of

        report, code = card_command(arguments[1:], width_of(sys.stdout))
        return _print(report) or code
    flags = parse(arguments)
    if {flags.json, flags.csv, flags.junit, flags.plot} != {None}:
        from app.console.output_files import refuse_outputs

        refuse_outputs(flags)
    refuse_other_systems()
    if flags.list:
        from app.console.listing import listing
        from app.console.width import width_of

        return _print(listing(flags.suite, flags.format, width_of(sys.stdout)))
    if flags.doctor and flags.cluster:
        from app.console.hosts import hosts_text

        return _print(hosts_text(flags.cluster, flags.insecure_cluster))
    if flags.doctor:
        from app.console.doctor import doctor
        from app.plan.environments import users_environments

        named = given_settings(flags, "plan").get("environments", {})
        report, code = doctor(environments=users_environments() | named)
        return _print(report) or code
    if flags.compare:
        from app.console.compare import compare
        from app.console.verdicts import wanted_of
        from app.console.width import width_of

        given = given_settings(flags, "plan")
        report, code = compare(
            *flags.compare,
            band=given.get("band", BAND),
            wanted=wanted_of(flags),
            width=width_of(sys.stdout),
            past=flags.history,
            judge=given.get("judge", ()),
        )
        return _print(report) or code
    if flags.history:
        from app.console.history import history
        from app.console.width import width_of

        report, code = history(
            flags.history,
            band=given_settings(flags, "plan").get("band"),
            any_host=flags.any_host,
            fail_on_slower=flags.fail_on == "slower",
            json_path=flags.json,
            csv_path=flags.csv,
            plot_path=flags.plot,
            width=width_of(sys.stdout),
        )
        return _print(report) or code
    if flags.verify:
        from app.console.verify import verified

        report, code = verified(flags.verify)
        return _print(report) or code
    if flags.show:
        from app.console.stored.show import show
        from app.console.width import width_of

        report, code = show(flags.show, width_of(sys.stdout), flags.sort, flags.verbose, flags.time)
        return _print(report) or code
    if flags.report:
        from app.report.page import write_report

        report, code = write_report(flags.report, flags.output or "report.html")
        return _print(report) or code
    if flags.imports:
        from app.console.stored.importing import import_files
        from app.console.width import width_of

        return _print(import_files(flags, width_of(sys.stdout)))
    if flags.merge:
        from app.console.stored.merging import merge_runs
        from app.console.width import width_of

        report, code = merge_runs(flags, width_of(sys.stdout))
        return _print(report) or code
    if flags.export and flags.paths:
        from app.console.exporting import export_stored, formats_of

        names = formats_of(flags.export)
        report, code = export_stored(flags.paths, names, flags.columns)
        return _print(report) or code
    if flags.install_desktop:
        from app.gui.desktop_entry import install_desktop

        return _print("".join(f"wrote {path}\n" for path in install_desktop()))
    if flags.cache_limit is not None:
        from exporters.cache import LIMIT_VARIABLE

        os.environ[LIMIT_VARIABLE] = str(parsed(size_in_bytes, flags.cache_limit, "--cache-limit"))
    if flags.cache_clear or flags.cache_info:
        from app.console.cache import cache_text

        return _print(cache_text(clear=flags.cache_clear))
    if flags.study is not None:
        from app.study import run_study

        return run_study(flags)
    if flags.headless or flags.check or flags.resume:
        from app.headless import run_headless

        return run_headless(flags)
    return _window(arguments)


def _window(arguments: Sequence[str]) -> int:
    missing = [name for name in ("PySide6", "pyqtgraph") if find_spec(name) is None]
    if missing:
        raise PlanError(
            f"the window needs {' and '.join(missing)}, not installed here",
            "pip install 'graphlap[gui]', or measure without a window: --headless",
        )
    if sys.platform == "linux" and not any(map(os.environ.get, _DISPLAYS)):
        raise PlanError(
            "there is no display to open a window on", "measure without a window: --headless"
        )
    from app.gui.main import main as open_window

    return open_window(arguments)


_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")

if __name__ == "__main__":
    sys.exit(main())
