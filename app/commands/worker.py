"""`graphlap worker`: serve as a host of a cluster; a scheduler's worker has options of Dask's."""

from app.remote.worker import main as run
from app.remote.worker import parser

__all__ = ["parser", "run"]
