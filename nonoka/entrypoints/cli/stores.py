"""Finds sessions in a store that may not be there yet. Used by the commands that only look, or only signal."""

from __future__ import annotations

from nonoka.app import store_exists
from nonoka.errors import AmbiguousSession, UnknownSession
from nonoka.ports.store import Store
from nonoka.settings import Settings


def must_exist(settings: Settings, wanted: str) -> None:
    """Raise UnknownSession where there is no store yet: to look for something makes none."""
    if not store_exists(settings):
        raise UnknownSession(wanted)


async def short_ids(store: Store, session_ids: list[str]) -> list[str]:
    """For each id its beginning, of at least 8 characters, that names no other session of this store."""
    return [await _short_id(store, session_id) for session_id in session_ids]


async def _short_id(store: Store, session_id: str) -> str:
    for length in range(8, len(session_id)):
        try:
            await store.find_session(session_id[:length])
        except AmbiguousSession:
            continue
        return session_id[:length]
    return session_id
