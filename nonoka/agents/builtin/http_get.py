"""One page from the web, within bounds. Loaded by fetch.py at the first fetch: importing httpx2 takes a while.

Neither cookies nor credentials nor proxies: each hop is a request of its own, to an address that was checked.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from nonoka.agents.builtin.addresses import MayReach, addresses_of
from nonoka.errors import ToolFailure

MAX_BODY_BYTES = 1_000_000
MAX_REDIRECTS = 5
MAX_URL_CHARACTERS = 4_000
FETCH_S = 20.0
_TIMEOUTS = {"connect": 5.0, "read": 15.0, "write": 15.0, "pool": 5.0}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"User-Agent": "nonoka", "Accept": "text/*, */*;q=0.5", "Accept-Encoding": "gzip"}


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered. ``body`` is its beginning if not ``whole``; ``size`` is in bytes, as announced."""

    url: str
    content_type: str
    size: int | None
    body: bytes = b""
    whole: bool = True


async def get(url: str, may_reach: MayReach, wants_body: Callable[[str], bool]) -> Page:
    """The page, redirects followed, within FETCH_S; its body only where its content type is wanted.

    Raises ToolFailure, in one line, for whatever stands in the way.
    """
    at = url
    try:
        async with asyncio.timeout(FETCH_S):
            for _ in range(MAX_REDIRECTS + 1):
                found = await _hop(_checked(at), may_reach, wants_body)
                if isinstance(found, Page):
                    return found
                at = found
    except TimeoutError:
        raise ToolFailure(f"{at} did not answer in full within {FETCH_S:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise ToolFailure(f"{at} can't be fetched: {why}") from error
    raise ToolFailure(f"{url} leads through more than {MAX_REDIRECTS} redirects")


def _checked(url: str) -> httpx2.URL:
    if len(url) > MAX_URL_CHARACTERS:
        raise ToolFailure(f"the URL has {len(url)} characters; at most {MAX_URL_CHARACTERS} are allowed")
    parsed = httpx2.URL(url)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ToolFailure(f"{url!r} is not a web address; it begins with http:// or https:// and names a host")
    if parsed.userinfo:
        raise ToolFailure("the URL holds a user name or password; pages are fetched without")
    return parsed


async def _hop(url: httpx2.URL, may_reach: MayReach, wants_body: Callable[[str], bool]) -> Page | str:
    """What is there: a page, or where it went."""
    secure = url.scheme == "https"
    addresses = await addresses_of(url.raw_host.decode(), url.port or (443 if secure else 80), may_reach)
    verify = await asyncio.to_thread(_certificates) if secure else False
    async with httpx2.AsyncHTTPTransport(verify=verify, trust_env=False) as transport:
        response = await _answered(transport, url, addresses)
        try:
            return await _read(url, response, wants_body)
        finally:
            await response.aclose()


async def _answered(
    transport: httpx2.AsyncHTTPTransport, url: httpx2.URL, addresses: list[str]
) -> httpx2.Response:
    """The answer of the first address that can be connected to."""
    failed: Exception | None = None
    for address in addresses:
        # the address stands in the URL, so that the name isn't looked up again; the certificate is the name's
        request = httpx2.Request(
            "GET",
            url.copy_with(host=address),
            headers={"Host": url.netloc.decode(), **_HEADERS},
            extensions={"timeout": _TIMEOUTS, "sni_hostname": url.raw_host.decode()},
        )
        try:
            return await transport.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            failed = error
    raise failed or httpx2.ConnectError("it has no address")


async def _read(url: httpx2.URL, response: httpx2.Response, wants_body: Callable[[str], bool]) -> Page | str:
    if response.status_code in _REDIRECTS and "location" in response.headers:
        return str(url.join(response.headers["location"]))
    if not response.is_success:
        raise ToolFailure(f"{url} answered {response.status_code} {response.reason_phrase}".rstrip())
    length = response.headers.get("content-length", "")
    page = Page(
        url=str(url),
        content_type=response.headers.get("content-type", ""),
        size=int(length) if length.isascii() and length.isdigit() else None,
    )
    if not wants_body(page.content_type):
        return page
    body, whole = await _body(url, response)
    return Page(page.url, page.content_type, page.size, body, whole)


async def _body(url: httpx2.URL, response: httpx2.Response) -> tuple[bytes, bool]:
    """The body, at most MAX_BODY_BYTES of it, and whether that is all; a small one may unpack to gigabytes."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("identity", "", "gzip", "x-gzip"):
        raise ToolFailure(f"{url} came compressed as {packed!r}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=31) if "gzip" in packed else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += unpacker.decompress(chunk, MAX_BODY_BYTES + 1 - len(body)) if unpacker else chunk
        except zlib.error as error:
            raise ToolFailure(f"{url} came with broken compression: {error}") from error
        if len(body) > MAX_BODY_BYTES:
            return bytes(body[:MAX_BODY_BYTES]), False
    return bytes(body), True


@functools.cache
def _certificates() -> ssl.SSLContext:
    # reading them takes some 30 ms
    return httpx2.create_ssl_context()
