"""The log of a command: lines on stderr, so that stdout stays what was asked for."""

from __future__ import annotations

import logging
import sys


class _Brief(logging.Formatter):
    """One line a record; what was raised is named, not traced."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"nonoka: {record.levelname.lower()}: {record.getMessage()}"
        error = record.exc_info[1] if record.exc_info else None
        return f"{line} ({type(error).__name__}: {error})" if error is not None else line


def set_up_logging(level: str, *, debug: bool) -> None:
    """Everything from this level on is on stderr; with ``debug``, tracebacks too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s") if debug else _Brief()
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.raiseExceptions = debug
