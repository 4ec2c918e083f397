"""Which sessions of a store are listed."""

from __future__ import annotations

from nonoka.records.base import Record
from nonoka.records.session import SessionIndex, SessionStatus


class SessionFilter(Record):
    """What each listed session must be; without a value, anything will do.

    ``statuses``: one of these. ``created_since``: ms UTC, inclusive. ``below``: an absolute directory that it
    works in, or in one below it. ``before``: the whole id of a session of this store, which comes before it in
    the list.
    """

    statuses: tuple[SessionStatus, ...] = ()
    created_since: int = 0
    below: str = ""
    #: its title has this text in it, or its id begins so; upper and lower case are the same
    search: str = ""
    before: str | None = None

    def finds(self, index: SessionIndex) -> bool:
        """Whether a search for ``search`` finds the session."""
        wanted = self.search.casefold()
        return wanted in index.title.casefold() or index.session_id.casefold().startswith(wanted)


#: Every session.
ANY_SESSION = SessionFilter()
