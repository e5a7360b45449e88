"""The error of a value that cannot be understood, with the action beside the cause."""

from __future__ import annotations


class InvalidValue(ValueError):
    """A value that cannot be understood: what is wrong with it, and what to give instead.

    `key` is what the value is of, where the cause names it.
    """

    def __init__(self, cause: str, remedy: str = "", key: str = "") -> None:
        super().__init__(f"{cause}; {remedy}" if remedy else cause)
        self.cause = cause
        self.remedy = remedy
        self.key = key

    def of(self, key: str) -> InvalidValue:
        """The same, with what the value is of in front."""
        return InvalidValue(f"{key} {self.cause}", self.remedy, key)
