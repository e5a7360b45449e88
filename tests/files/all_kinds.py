"""Every kind of file, in the order of the table."""

from __future__ import annotations

from tests.files import language, optimised, quantised, storage, structure, values

KINDS = (
    *optimised.KINDS,
    *language.KINDS,
    *quantised.KINDS,
    *values.KINDS,
    *structure.KINDS,
    *storage.KINDS,
)
