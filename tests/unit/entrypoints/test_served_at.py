"""Where metrics are served, as it is given on the command line."""

from __future__ import annotations

import click
import pytest

from nonoka.entrypoints.cli.served_at import served_at

OPTION = click.Option(["--metrics"])
CONTEXT = click.Context(click.Command("worker"))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:9464", ("0.0.0.0", 9464)),
        ("localhost:1", ("localhost", 1)),
        ("[::1]:9464", ("::1", 9464)),
    ],
)
def test_a_port_alone_is_one_of_this_machine(given: str, meant: tuple[str, int]) -> None:
    assert served_at(CONTEXT, OPTION, given) == meant


@pytest.mark.parametrize("given", ["", "x", "-1", "65536", "host", "host:", "::1", "::1:9464", "1.5"])
def test_what_is_neither_is_refused(given: str) -> None:
    with pytest.raises(click.BadParameter, match="neither PORT nor HOST:PORT"):
        served_at(CONTEXT, OPTION, given)
