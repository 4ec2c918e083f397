"""fetch_url reads texts from the web, and reaches only what it may."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

from nonoka.agents.agent import Agent
from nonoka.agents.builtin import default_agent
from nonoka.agents.builtin.addresses import is_public
from nonoka.agents.builtin.fetch import fetch_tool
from nonoka.agents.builtin.http_get import MAX_BODY_BYTES
from nonoka.errors import ToolFailure
from tests.support.tool_calls import ToolCalls
from tests.support.web_server import Answer, WebServer, moved

HTML = b"<html><head><title>T</title></head><body><p>Hello <a href='/x'>there</a></p></body></html>"


@pytest.fixture
def call(tmp_path: Path) -> ToolCalls:
    """Calls of an agent that may reach private addresses."""
    return ToolCalls(tmp_path, agent=default_agent({"NONOKA_FETCH_PRIVATE": "1"}))


@contextmanager
def serving(**answers: Answer) -> Iterator[WebServer]:
    with WebServer({f"/{name}": answer for name, answer in answers.items()}) as server:
        yield server


async def refusal(call: ToolCalls, url: str) -> str:
    with pytest.raises(ToolFailure) as failure:
        await call("fetch_url", url=url)
    said = str(failure.value)
    assert "\n" not in said
    return said


async def test_a_text_is_given_as_it_is(call: ToolCalls) -> None:
    with serving(t=Answer("é\n <b>\n".encode(), "text/plain; charset=utf-8")) as server:
        assert await call("fetch_url", url=f"{server.url}/t") == f"[{server.url}/t, text/plain]\né\n <b>\n"


async def test_a_page_is_given_as_text(call: ToolCalls) -> None:
    with serving(p=Answer(HTML, "text/html")) as server:
        said = await call("fetch_url", url=f"{server.url}/p#part")
        assert said == f"[{server.url}/p#part, text/html]\nT\n\nHello there [{server.url}/x]"


async def test_a_request_names_its_host_and_nothing_of_ours(call: ToolCalls) -> None:
    """Neither cookies nor credentials, also not from one page to the next."""
    with serving(a=moved("/b"), b=Answer(b"x", headers={"Set-Cookie": "c=1"})) as server:
        url = f"http://localhost:{server.port}/a"
        await call("fetch_url", url=url)
        await call("fetch_url", url=url)
        assert [request.path for request in server.requests] == ["/a", "/b", "/a", "/b"]
        for request in server.requests:
            assert request.headers["host"] == f"localhost:{server.port}"
            assert request.headers["user-agent"] == "nonoka"
            assert set(request.headers) <= {"host", "user-agent", "accept", "accept-encoding", "connection"}


@pytest.mark.parametrize(
    ("content_type", "body", "shown"),
    [
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/problem+json", b"{}", "{}"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ("text/plain; charset=nonsense", "é".encode(), "é"),
        ("text/plain; charset=hex", b"x", "x"),
        ("text/plain", "é".encode("utf-16"), "é"),
        ("text/html", b"<meta charset='latin-1'>caf\xe9", "café"),
        ("text/plain", b"\xef\xbb\xbfx", "x"),
        ("text/plain", b"", "[it is empty]"),
        (None, b"plain", "plain"),
    ],
)
async def test_what_is_text_is_shown(call: ToolCalls, content_type: str | None, body: bytes, shown: str) -> None:
    with serving(t=Answer(body, content_type)) as server:
        said = await call("fetch_url", url=f"{server.url}/t")
        assert said.partition("]\n")[2] == shown


@pytest.mark.parametrize(
    ("content_type", "body", "said"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n" + b"x" * 11_992, "an image (PNG) of 12 kB"),
        ("application/pdf", b"%PDF" + b"x" * 2_499_996, "binary (application/pdf) of 2.5 MB"),
        ("application/octet-stream", b"abc", "binary (application/octet-stream) of 3 bytes"),
        ("text/plain", b"a\0b", "a binary file of 3 bytes"),
        (None, b"\xff\xd8\xff", "an image (JPEG) of 3 bytes"),
    ],
)
async def test_what_is_no_text_gets_a_plain_answer(
    call: ToolCalls, content_type: str | None, body: bytes, said: str
) -> None:
    with serving(b=Answer(body, content_type)) as server:
        assert await call("fetch_url", url=f"{server.url}/b") == f"[{server.url}/b is {said}; it is not shown]"


@pytest.mark.parametrize("length", [True, False])
async def test_of_a_large_text_the_beginning_is_read(call: ToolCalls, length: bool) -> None:
    with serving(large=Answer(b"y" * (MAX_BODY_BYTES + 500_000), length=length)) as server:
        said = await call("fetch_url", url=f"{server.url}/large")
        head, _, text = said.partition("\n")
        assert head == f"[{server.url}/large, text/plain; only the first 1.0 MB of it]"
        assert text == "y" * MAX_BODY_BYTES


async def test_a_compressed_text_is_unpacked_within_the_same_bound(call: ToolCalls) -> None:
    packed = {"Content-Encoding": "gzip"}
    with serving(
        small=Answer(gzip.compress(b"hello"), headers=packed),
        bomb=Answer(gzip.compress(b"0" * 200_000_000, 1), headers=packed),
        broken=Answer(b"nothing packed", headers=packed),
        other=Answer(b"x", headers={"Content-Encoding": "br"}),
    ) as server:
        assert (await call("fetch_url", url=f"{server.url}/small")).endswith("]\nhello")
        said = await call("fetch_url", url=f"{server.url}/bomb")
        assert "only the first 1.0 MB of it" in said
        assert said.endswith("0" * MAX_BODY_BYTES)
        assert "broken compression" in await refusal(call, f"{server.url}/broken")
        assert "compressed as 'br'" in await refusal(call, f"{server.url}/other")


async def test_redirects_are_followed_a_few_times(call: ToolCalls) -> None:
    steps = {f"r{n}": moved(f"r{n + 1}", (301, 302, 303, 307, 308)[n]) for n in range(5)}
    with serving(**steps, r5=Answer(b"there"), loop=moved("/loop")) as server:
        assert await call("fetch_url", url=f"{server.url}/r0") == f"[{server.url}/r5, text/plain]\nthere"
        assert "more than 5 redirects" in await refusal(call, f"{server.url}/loop")
        assert len([request for request in server.requests if request.path == "/loop"]) == 6


async def test_an_error_says_what_was_answered(call: ToolCalls) -> None:
    with serving(gone=Answer(b"x", status=410)) as server:
        assert await refusal(call, f"{server.url}/gone") == f"{server.url}/gone answered 410 Gone"
        assert "404" in await refusal(call, f"{server.url}/none")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert "can't be fetched" in await refusal(call, f"http://127.0.0.1:{unused.getsockname()[1]}/")
    assert "has no address" in await refusal(call, "http://nowhere.invalid/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http://[::1",
        "data:,x",
    ],
)
async def test_what_is_no_web_address_is_refused(call: ToolCalls, url: str) -> None:
    assert await refusal(call, url)


async def test_credentials_in_an_address_are_refused_and_not_repeated(call: ToolCalls) -> None:
    said = await refusal(call, "http://user:secret@example.org/")
    assert "user name or password" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "169.254.169.254",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "0x7f000001",
        "0x7f.1",
        "2130706433",
        "017700000001",
        "localhost",
        "LOCALHOST",
    ],
)
async def test_what_is_not_public_is_refused(tmp_path: Path, host: str) -> None:
    """Before anything is connected to, in whatever form it is written."""
    call = ToolCalls(tmp_path)
    with serving(secret=Answer(b"x")) as server:
        for scheme in ("http", "https"):
            said = await refusal(call, f"{scheme}://{host}:{server.port}/secret")
            assert "not a public address" in said
            assert "NONOKA_FETCH_PRIVATE=1" in said
        assert server.requests == []


@pytest.mark.parametrize("private", ["127.0.0.2", "169.254.169.254", "[::1]", "[::ffff:7f00:2]", "0x7f000002"])
async def test_a_redirect_to_what_is_not_allowed_is_refused(tmp_path: Path, private: str) -> None:
    """Each hop is checked, not only the first."""
    tool = fetch_tool(lambda address: str(address) == "127.0.0.1")
    call = ToolCalls(tmp_path, agent=Agent("a", tools=[tool]))
    with (
        serving(secret=Answer(b"x")) as server,
        serving(a=moved(f"http://{private}:{server.port}/secret")) as first,
    ):
        assert "not a public address" in await refusal(call, f"{first.url}/a")
        assert [request.path for request in first.requests] == ["/a"]
        assert server.requests == []


async def test_a_redirect_to_another_scheme_is_refused(call: ToolCalls) -> None:
    with serving(a=moved("file:///etc/passwd")) as server:
        assert "is not a web address" in await refusal(call, f"{server.url}/a")


async def test_proxies_of_the_environment_are_not_used(call: ToolCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would look the name up again, and connect where nobody has checked."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(t=Answer(b"direct")) as server:
        assert (await call("fetch_url", url=f"{server.url}/t")).endswith("direct")


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "fec0::1",
        "::7f00:1",
        "2001::1",
        "64:ff9b:1::1",
        "198.18.0.1",
        "192.0.2.1",
        "240.0.0.1",
        "239.1.1.1",
        "ff0e::1",
    ],
)
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
