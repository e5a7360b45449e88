"""`graphlap worker` whose agent also starts our own child: `python -m` this, ADDRESS and flags."""

from __future__ import annotations

import sys
from pathlib import Path

from app.machine.placement import usable_cores
from app.remote.agent import Agent
from app.remote.dask_cluster.worker import main
from app.remote.worker import parser

CHILD = Path(__file__).with_name("child.py")


def agent(name: str = "") -> Agent:
    """One that knows the kind `talk`."""
    return Agent(name, usable_cores(), commands={"talk": (sys.executable, str(CHILD))})


if __name__ == "__main__":
    sys.exit(main(parser().parse_args(), agent()))
