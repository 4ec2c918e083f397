"""The option that says on which port something is served: of this machine alone, unless a host is given too."""

from __future__ import annotations

import click

LOOPBACK = "127.0.0.1"
_PORTS = range(65_536)


def served_at(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Host and port of ``PORT``, ``HOST:PORT`` or ``[IPV6]:PORT``: a callback of click's.

    Raises BadParameter.
    """
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and int(port) in _PORTS) or (":" in bare and bare == host):
        raise click.BadParameter(f"{value!r} is neither PORT nor HOST:PORT (an IPv6 address in brackets)")
    return bare or LOOPBACK, int(port)
