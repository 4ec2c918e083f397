"""From decisions on a draft to the function that a store runs inside its transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from nonoka.decisions.draft import Draft
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, SessionView

P = ParamSpec("P")


def deciding(decision: Callable[Concatenate[Draft, P], None], *args: P.args, **kwargs: P.kwargs) -> Decide:
    """The decision with its arguments, to be made on whatever the transaction reads."""

    def decide(view: SessionView) -> Changes:
        draft = Draft(view)
        decision(draft, *args, **kwargs)
        return draft.changes()

    return decide
