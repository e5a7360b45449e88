"""`python -m tests.survey [NAME ...]`: every network on every runtime, and the page about it.

One process and one run folder for each network, so that a crash costs one line; what has a
finished folder is not measured again. `--page` writes the page from what is there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.checkout import ROOT
from tests.survey.table import RUNTIMES, Network, networks, page, read_rows

PAGE = ROOT / "exporters" / "NETWORKS.md"
_LIMIT_S = 1800
_ROUND_S = "240"


def main(arguments: Sequence[str] | None = None) -> int:
    all_networks = networks()
    parser = argparse.ArgumentParser(prog="python -m tests.survey", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all, unless some are named")
    parser.add_argument("--folder", type=Path, default=Path("survey-results"), help="run folders")
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    flags = parser.parse_args(arguments)
    unknown_names = set(flags.names) - {network.name for network in all_networks}
    if unknown_names:
        parser.error(f"no network is called {', '.join(sorted(unknown_names))}")
    folder = flags.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen_networks = [
        network for network in all_networks if not flags.names or network.name in flags.names
    ]
    for number, network in enumerate([] if flags.page else chosen_networks, 1):
        outcome = _measure(network, folder)
        print(f"[{number}/{len(chosen_networks)}] {network.name}: {outcome}", flush=True)
    if flags.page or not flags.names:
        results = [(network, read_rows(folder / network.name)) for network in all_networks]
        PAGE.write_text(page(results), "utf-8")
        print(f"wrote {PAGE}")
    return 0


def _measure(network: Network, folder: Path) -> str:
    """Measure one network, unless its folder is finished; what came out, in a few words."""
    run, finish_mark = folder / network.name, folder / f"{network.name}.finished"
    if not finish_mark.is_file():
        try:
            model = network.factory or _write_model(network.name, folder)
        except subprocess.CalledProcessError as error:
            return f"it could not be converted: {error.stderr.strip().splitlines()[-1:]}"
        begin = ["--models", model, "--batch", "1", "--runtimes", ",".join(RUNTIMES)]
        begin += ["--rounds", "1", "--time-limit", _ROUND_S, "--out", str(run)]
        again = ["resume", str(run)]
        command = [sys.executable, "-m", "app", "--headless"]
        try:
            with (folder / f"{network.name}.log").open("ab") as log:
                subprocess.run(
                    [*command, *(again if (run / "manifest.json").is_file() else begin)],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    timeout=_LIMIT_S,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            return f"not over after {_LIMIT_S} s: resumed by the next survey"
        finish_mark.touch()
    rows = read_rows(run)
    return ", ".join(f"{runtime} {row['status']}" for runtime, row in rows.items()) or "no rows"


def _write_model(name: str, folder: Path) -> str:
    path = folder / f"{name}.onnx"
    if not path.is_file():
        command = [sys.executable, "-W", "ignore", "-m", "tests.survey.fitted", name, str(path)]
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return str(path)


if __name__ == "__main__":
    sys.exit(main())
