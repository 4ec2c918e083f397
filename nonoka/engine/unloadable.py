"""The agents that this process could not load lately, so that it leaves their tasks to others for a while."""

from __future__ import annotations

from nonoka.ports.clock import Clock

#: How long an agent is left alone after it first failed to load; it doubles with each failure.
FIRST_WAIT_MS = 1_000
#: A file that was mended is picked up within this time at the latest.
LONGEST_WAIT_MS = 30_000


class UnloadableAgents:
    """Names, each with the time at which it is tried again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waits: dict[str, tuple[int, int]] = {}

    def note(self, name: str) -> None:
        """The agent could not be loaded now."""
        _, wait = self._waits.get(name, (0, FIRST_WAIT_MS // 2))
        wait = min(LONGEST_WAIT_MS, wait * 2)
        self._waits[name] = (self._clock.monotonic_ms() + wait, wait)

    def forget(self, name: str) -> None:
        """The agent was loaded."""
        self._waits.pop(name, None)

    def names(self) -> list[str]:
        """The agents whose tasks this process leaves alone now."""
        now = self._clock.monotonic_ms()
        return sorted(name for name, (until, _) in self._waits.items() if until > now)
