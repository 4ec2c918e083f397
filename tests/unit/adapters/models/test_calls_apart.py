"""Which piece of a stream belongs to which call."""

from __future__ import annotations

from nonoka.adapters.models.calls_apart import CallNumbers


def numbers(*pieces: tuple[int, str, str, str]) -> list[int]:
    """The number of each piece (index, id, name, arguments), counted from 0 as they first appear."""
    calls = CallNumbers()
    found = [calls.number(*piece) for piece in pieces]
    return [list(dict.fromkeys(found)).index(number) for number in found]


def test_a_servers_own_numbers_are_kept() -> None:
    """Wherever they tell calls apart, interleaved or not."""
    calls = CallNumbers()
    pieces = [(0, "a", "f", "{"), (1, "b", "g", "{"), (0, "", "", "}"), (1, "", "", "}")]
    assert [calls.number(*piece) for piece in pieces] == [0, 1, 0, 1]


def test_another_id_with_a_name_is_another_call() -> None:
    assert numbers((0, "a", "f", ""), (0, "b", "g", ""), (0, "", "", "{}"), (0, "c", "f", "{}")) == [0, 1, 1, 2]


def test_without_ids_a_whole_call_is_followed_by_another() -> None:
    """What is not whole yet goes on, though its name is said again."""
    assert numbers((0, "", "f", "{}"), (0, "", "f", "{}"), (0, "", "", "")) == [0, 1, 1]
    assert numbers((0, "", "f", '{"a":'), (0, "", "f", "1}")) == [0, 0]


def test_an_id_that_changes_or_comes_late_without_a_name_is_of_the_same_call() -> None:
    assert numbers((0, "a", "f", "{"), (0, "b", "", "}")) == [0, 0]
    assert numbers((0, "", "f", ""), (0, "a", "", "{}")) == [0, 0]


def test_the_same_id_is_the_same_call() -> None:
    """A server that says a call again at the end has not asked for it twice."""
    assert numbers((0, "a", "f", "{}"), (0, "a", "f", "{}")) == [0, 0]
