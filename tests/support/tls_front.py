"""TLS in front of a server that has none: what a client sends through it arrives there, and back.

The certificate is the tests' own (tests/support/tls/, for 127.0.0.1, until 2126); nobody else trusts it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

_FILES = Path(__file__).parent / "tls"
CERTIFICATE = _FILES / "certificate.pem"


@asynccontextmanager
async def tls_front(port: int) -> AsyncIterator[int]:
    """The server on this port of 127.0.0.1 is also reached by TLS, on the port that is given."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE, _FILES / "key.pem")
    ends: set[asyncio.Task[None]] = set()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", port)
        for pair in ((reader, behind_writer), (behind_reader, writer)):
            end = asyncio.create_task(_carry(*pair))
            ends.add(end)
            end.add_done_callback(ends.discard)

    async with await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context) as listening:
        try:
            yield int(listening.sockets[0].getsockname()[1])
        finally:
            for end in list(ends):
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with closing(writer):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
    except OSError:
        return  # either end is gone; the other hears of it by the close
