"""`graphlap worker`: serve as a host of a cluster."""

from app.remote.worker import add_arguments, run

__all__ = ["add_arguments", "run"]
