"""How a moment is written on the command line."""

from __future__ import annotations

import click
import pytest

from nonoka.entrypoints.cli.since import moment

NOW = 1_800_000_000_000
OPTION = click.Option(["--since"])


def read(written: str) -> int:
    found = moment(click.Context(click.Command("list")), OPTION, written)
    assert found is not None
    assert found.written == written
    return found.at(NOW)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("45s", 45),
        ("30min", 1_800),
        ("30m", 1_800),
        ("2h", 7_200),
        ("2 h", 7_200),
        ("3d", 259_200),
        ("1w", 604_800),
    ],
)
def test_a_length_of_time_is_that_long_ago(written: str, seconds: int) -> None:
    assert read(written) == NOW - seconds * 1000


def test_a_date_with_a_zone_is_meant_there_and_one_without_here() -> None:
    assert read("2026-01-01T00:00:00Z") == 1_767_225_600_000
    assert read("2026-01-01T01:00:00+01:00") == 1_767_225_600_000
    assert abs(read("2026-01-01") - 1_767_225_600_000) <= 14 * 3_600_000
    assert read("2026-01-01") == read("2026-01-01T00:00")


def test_nothing_is_before_1970() -> None:
    assert read("999999999w") == 0
    assert read("1900-01-01T00:00:00Z") == 0


@pytest.mark.parametrize("written", ["", "yesterday", "2", "-2h", "2026-13-01", "٣d", "1.5h"])
def test_what_is_no_time_is_refused_with_how_to_write_one(written: str) -> None:
    with pytest.raises(click.BadParameter, match="is no time; write 30min, 2h, 3d"):
        read(written)
