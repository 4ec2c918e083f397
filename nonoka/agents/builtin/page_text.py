"""An HTML page as text that can be read. Used by fetch.py."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

#: how much text is made of a page; links grow when they are written out
MAX_CHARACTERS = 1_000_000
#: so much at a time: a construct that does not end is looked at again with each piece
_PIECE = 65_536

_SILENT = frozenset({"script", "style", "template", "svg", "iframe", "object"})
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|header|hr"
    "|html|li|main|nav|ol|option|p|pre|section|summary|table|tbody|thead|title|tr|ul"
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_CELLS = frozenset({"td", "th"})


def page_text(html: str, url: str) -> str:
    """The text of a page: no scripts and styles, a line for each block, links as ``text [address]``."""
    reader = _Reader(url)
    # the parser raises at the start of a marked section that it doesn't know; a browser takes it for a comment
    html = html.replace("<![", "<!")
    for start in range(0, len(html), _PIECE):
        reader.feed(html[start : start + _PIECE])
    # and never close(): what a construct without an end holds is read again from each of its characters then
    reader.feed("\n")
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._parts: list[str] = []
        self._room = MAX_CHARACTERS
        self._silent: list[str] = []
        self._links: list[str] = []
        self._pre = 0

    def text(self) -> str:
        lines = (line.rstrip() for line in "".join(self._parts).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if tag in _HEADINGS:
            self._say(f"\n\n{_HEADINGS[tag]} ")
        elif _BLOCKS.fullmatch(tag):
            self._say("\n- " if tag == "li" else "\n")
        elif tag in _CELLS:
            self._say(" | ")
        elif tag == "a":
            self._links.append(self._address(dict(attrs).get("href")))
        elif tag == "img" and (words := (dict(attrs).get("alt") or "").strip()):
            self._say(f"[image: {words}]")
        self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            while self._silent.pop() != tag:
                pass
        if tag in _HEADINGS or _BLOCKS.fullmatch(tag):
            self._say("\n\n" if tag == "p" or tag in _HEADINGS else "\n")
        elif tag == "a" and self._links and (address := self._links.pop()):
            self._say(f" [{address}]")
        if tag == "pre":
            self._pre = max(0, self._pre - 1)

    def handle_data(self, data: str) -> None:
        self._say(data if self._pre else re.sub(r"\s+", " ", data))

    def _say(self, words: str) -> None:
        if self._silent or self._room <= 0:
            return
        if not self._pre and words[0] == " " and (not self._parts or self._parts[-1][-1].isspace()):
            words = words.lstrip(" ")
        if words:
            self._parts.append(words)
            self._room -= len(words)

    def _address(self, link: str | None) -> str:
        """Where a link leads; empty for those into the page itself, and those that lead nowhere."""
        link = (link or "").strip()
        if not link or link.startswith("#"):
            return ""
        try:
            address = urljoin(self._url, link)
        except ValueError:
            return ""
        return address if address.startswith(("http://", "https://")) else ""
