"""Which addresses a tool may connect to. Used by http_get.py.

A model, or a page that it has read, must not be able to reach what only this machine or its network can:
cloud metadata, databases, routers.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from nonoka.errors import ToolFailure

Address = IPv4Address | IPv6Address
MayReach = Callable[[Address], bool]

#: IPv4 as networks without it write it (RFC 6052)
_TRANSLATED = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether the address is one of the whole internet's, also under the IPv6 forms of an IPv4 address."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def is_any(address: Address) -> bool:
    """True: for those who let their agents reach their own network."""
    return True


async def addresses_of(host: str, port: int, may_reach: MayReach) -> list[str]:
    """The addresses of a host, all of which may be reached. Raises ToolFailure if one may not, or there is none.

    Connect to these and to nothing else: a name may have other addresses a moment later.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailure(f"{host!r} has no address: {getattr(error, 'strerror', None) or error}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        if not may_reach(ip_address(address)):
            is_it = "is" if address == host else f"is {address}, which is"
            raise ToolFailure(
                f"{host!r} {is_it} not a public address; it is reached only if the worker runs with "
                "NONOKA_FETCH_PRIVATE=1"
            )
    return addresses
