"""The built-in tool that fetches a page from the web."""

from __future__ import annotations

import re

from nonoka.agents.builtin.addresses import MayReach, is_public
from nonoka.agents.builtin.content_kind import not_text
from nonoka.agents.builtin.page_text import page_text
from nonoka.agents.threads import ThreadCall
from nonoka.agents.tool import Tool, tool

#: what is text beside text/*, and what ends in +json or +xml
_TEXTUAL = frozenset(
    f"application/{name}"
    for name in ("json", "x-ndjson", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "sql", "x-sh")
)
_HTML = frozenset({"text/html", "application/xhtml+xml"})


def fetch_tool(may_reach: MayReach = is_public) -> Tool:
    """The tool ``fetch_url``, which connects only to addresses that ``may_reach`` allows."""

    @tool(effect="read_only", timeout_s=60)
    async def fetch_url(url: str) -> str:
        """Fetch a text from the web: a page (as plain text, its links in brackets), JSON, XML or source.

        Of a large one the first megabyte is read. Nothing is sent but the URL; scripts are not run.

        Args:
            url: The address, beginning with http:// or https://.
        """
        # loaded at the first fetch: importing httpx2 would slow each start down
        from nonoka.agents.builtin.http_get import get  # noqa: PLC0415

        page = await get(url, may_reach, _is_textual)
        kind = _kind(page.content_type)
        charset = _charset(page.content_type, page.body)
        binary = _binary(kind, charset, page.body)
        if binary is not None:
            size = "" if page.size is None else f" of {_size(page.size)}"
            return f"[{page.url} is {binary}{size}; it is not shown]"
        text = _decoded(page.body, charset)
        if kind in _HTML:
            # a megabyte of it takes a second, which the event loop hasn't got
            text = str(await ThreadCall(lambda: page_text(text, page.url), "page text"))
        cut = "" if page.whole else f"; only the first {_size(len(page.body))} of it"
        return f"[{page.url}, {kind or 'of no stated type'}{cut}]\n{text or '[it is empty]'}"

    return fetch_url


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _is_textual(content_type: str) -> bool:
    kind = _kind(content_type)
    return not kind or kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(("+json", "+xml"))


def _binary(kind: str, charset: str, body: bytes) -> str | None:
    """What it is if it isn't text, in words."""
    if not _is_textual(kind):
        family, _, name = kind.partition("/")
        return f"an image ({name.upper()})" if family == "image" else f"binary ({kind})"
    # these have a NUL in each Latin letter
    return None if charset.startswith(("utf-16", "utf-32")) else not_text(body)


def _charset(content_type: str, body: bytes) -> str:
    """The encoding by the header, a byte order mark, or the page's own word; UTF-8 if none of them says."""
    named = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", content_type, re.ASCII | re.IGNORECASE)
    if named is None and body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if named is None and b"<" in body[:1024]:
        start = body[:1024].decode("latin-1")
        named = re.search(r"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]+)", start, re.ASCII | re.IGNORECASE)
    return named[1].lower() if named else "utf-8"


def _decoded(body: bytes, charset: str) -> str:
    try:
        text = body.decode(charset, "replace")
    except (LookupError, UnicodeError):
        text = body.decode(errors="replace")
    return text.removeprefix("\ufeff")


def _size(count: int) -> str:
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 999_500 else f"{count / 1e6:.1f} MB"
