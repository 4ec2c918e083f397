"""Which Redis a URL names, said without its secrets. Needs no client: the command line asks too."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from nonoka.errors import UsageError

_WRITE = "write redis://HOST:6379/0, rediss://USER:PASSWORD@HOST:6379/0, or unix:///PATH?db=0"


def place_of(url: str) -> str:
    """The server and its database, such as ``redis://127.0.0.1:6379/0``; the same for every user of it.

    Raises UsageError where the URL names none; the message never shows a password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 6379
    except ValueError as error:
        raise UsageError(f"the URL of Redis is wrong ({error}); {_WRITE}") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise UsageError(f"the URL of Redis begins with {parts.scheme or url[:8]!r}; {_WRITE}")
    database = parse_qs(parts.query).get("db", [""])[0]
    if parts.scheme == "unix":
        if not parts.path:
            raise UsageError(f"the URL of Redis names no socket; {_WRITE}")
        return f"unix://{unquote(parts.path)}?db={_number(database)}"
    host = "127.0.0.1" if host in (None, "", "localhost") else host
    return f"redis://{host}:{port}/{_number(database or parts.path.strip('/'))}"


def _number(database: str) -> int:
    if not database:
        return 0
    if not database.isascii() or not database.isdigit():
        raise UsageError(f"the URL of Redis names database {database!r}, which is no number; {_WRITE}")
    return int(database)
