"""A worker's log: lines on stderr, one event each, ids as fields."""

from __future__ import annotations

import logging

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def set_up_logging(level: str) -> None:
    """nonoka's log has this level; Dramatiq's own is heard only where something is wrong, or at debug."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(process)d %(name)s %(message)s")
    for name in ("nonoka", "workers"):
        logging.getLogger(name).setLevel(_LEVELS[level])
    logging.getLogger("dramatiq").setLevel(logging.DEBUG if level == "debug" else logging.ERROR)
