"""The value of ``--since``: how long ago, or a date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import click

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,9}) ?(s|min|m|h|d|w)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment as it was written: so many ms before now, or ms UTC."""

    written: str
    ms: int
    ago: bool

    def at(self, now: int) -> int:
        """When that is, in ms UTC, not before 1970."""
        return max(0, now - self.ms if self.ago else self.ms)


def moment(context: click.Context, option: click.Parameter, written: str | None) -> Moment | None:
    """The moment that was written: ``45s``, ``30min``, ``2h``, ``3d``, ``1w``, or an ISO date, time optional.

    A date is meant in this machine's time zone unless it names another. A callback for click.
    """
    if written is None:
        return None
    if ago := _AGO.fullmatch(written):
        return Moment(written, int(ago[1]) * _UNITS[ago[2]] * 1000, ago=True)
    try:
        return Moment(written, int(datetime.fromisoformat(written).timestamp() * 1000), ago=False)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{written!r} is no time; write 30min, 2h, 3d, or a date such as 2026-05-31", context, option
        ) from None
