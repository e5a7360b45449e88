"""`graphlap` and `python -m app`: the flags decide between the window and the batch mode."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from app.cases.errors import DiskError, PlanError
from app.console.error_file import write_error_file
from app.plan.flags import parse, share_of, size_of
from exporters.cache import LIMIT_VARIABLE
from exporters.types import GraphlapError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; every error of ours is one sentence and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _dispatch(given)
    except GraphlapError as error:
        if "--debug" in given:
            raise
        sys.stderr.write(f"graphlap: {error}\n")
        if isinstance(error, DiskError):
            return 1
        write_error_file(error)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(arguments: Sequence[str]) -> int:
    flags = parse(arguments)
    if flags.list:
        from app.console.listing import listing

        sys.stdout.write(listing(flags.suite, flags.format))
        return 0
    if flags.doctor:
        from app.console.doctor import doctor

        report, code = doctor()
        sys.stdout.write(report)
        return code
    if flags.compare:
        from app.console.compare import compare

        report, code = compare(
            *flags.compare,
            band=share_of(flags.band, "--band") if flags.band is not None else None,
            fail_on_slower=flags.fail_on == "slower",
            markdown=flags.markdown,
            json_path=flags.json,
            junit_path=flags.junit,
        )
        sys.stdout.write(report)
        return code
    if flags.install_desktop:
        from app.gui.desktop_entry import install_desktop

        sys.stdout.write("".join(f"wrote {path}\n" for path in install_desktop()))
        return 0
    if flags.cache_limit is not None:
        os.environ[LIMIT_VARIABLE] = str(size_of(flags.cache_limit, "--cache-limit"))
    if flags.cache_clear or flags.cache_info:
        from app.console.cache import cache_text

        sys.stdout.write(cache_text(clear=flags.cache_clear))
        return 0
    if flags.headless or flags.resume:
        from app.headless import run_headless

        return run_headless(flags)
    return _window(arguments)


def _window(arguments: Sequence[str]) -> int:
    if find_spec("PySide6") is None:
        raise PlanError(
            "the window needs PySide6, which is not installed",
            "pip install PySide6-Essentials, or measure without a window: --headless",
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
