"""The checksum at the end of a JSON text, for each line of a journal and for the manifest.

CRC-32 of the bytes before it, so that a reader checks it without writing the values again. Its key
comes last and has a fixed length. A text without the key is of a release that wrote none.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Any

KEY = "crc32"
_NAME = f'"{KEY}":'.encode()
_VALUE = f'"{KEY}":"00000000"'


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the key stands in an object: what comes before it, and the end of the object."""

    before: bytes
    end: bytes

    def sealed(self, text: bytes) -> bytes:
        """The object with the checksum as its last key."""
        body = text.removesuffix(self.end)
        return body + self._ending(body)

    def is_sealed(self, text: bytes) -> bool:
        """Whether the text ends as `sealed` writes it, with the checksum that belongs to it."""
        length = len(self.before) + len(_VALUE) + len(self.end)
        return text[-length:] == self._ending(text[:-length])

    def has_key(self, text: bytes) -> bool:
        """Whether the text names a checksum anywhere: no other key is called so."""
        return _NAME in text

    def damage(self, text: bytes, values: Any) -> str:
        """What is wrong with the checksum of a text that holds these values; "" if nothing is."""
        if isinstance(values, dict) and KEY in values and not self.is_sealed(text):
            return "its checksum differs from its content"
        return ""

    def _ending(self, body: bytes) -> bytes:
        return self.before + f'"{KEY}":"{zlib.crc32(body):08x}"'.encode() + self.end


def text_digest(text: bytes) -> str:
    """By which a text is told apart from any other, also where somebody means it to be the same."""
    return new_digest(text).hexdigest()


def new_digest(text: bytes = b"") -> hashlib.blake2b:
    """The same of a text that is still being added to."""
    return hashlib.blake2b(text, digest_size=16)


LINE = Layout(b",", b"}")
"""Of a line of a journal, without its line break."""
DOCUMENT = Layout(b",\n ", b"\n}\n")
"""Of a manifest."""
