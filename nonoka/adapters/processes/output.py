"""What a command wrote, capped in memory."""

from __future__ import annotations

#: of each end of an output this much is kept; a model is given far less
KEPT_BYTES = 1_000_000


class CappedOutput:
    """The head and the tail of a stream of bytes, in bounded memory."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept = kept_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """The chunk is kept, or bytes from the middle have given way to it."""
        room = self._kept - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cut seldom: cutting at each chunk would copy the whole tail each time.
        if len(self._tail) > 2 * self._kept:
            self._cut_tail()

    def read(self) -> tuple[bytes, int]:
        """What is kept, and how many bytes were dropped between its head and its tail."""
        self._cut_tail()
        return bytes(self._head + self._tail), self._dropped

    def _cut_tail(self) -> None:
        surplus = max(len(self._tail) - self._kept, 0)
        del self._tail[:surplus]
        self._dropped += surplus
