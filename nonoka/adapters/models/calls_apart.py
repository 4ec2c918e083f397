"""Tells a stream's calls apart where a server gives several the same index. The classes of models use this.

pydantic-ai joins the pieces of a call by their index; some servers number every parallel call 0, and two calls
would become one that is neither.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

#: Beyond any index that a server gives.
_OWN = 100_000


@dataclass(slots=True)
class _Begun:
    """A call under way: the number it has for us, the id it came with, and its arguments so far."""

    number: int
    call_id: str
    arguments: str = ""

    def is_over(self) -> bool:
        """Whether its arguments are a whole JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(slots=True)
class CallNumbers:
    """Gives each call of one stream a number of its own."""

    _begun: dict[int, _Begun] = field(default_factory=dict)
    _given: int = 0

    def number(self, index: int, call_id: str, name: str, arguments: str) -> int:
        """The number of the call that this piece belongs to: the server's index wherever it tells calls apart.

        A piece begins another call if it names a tool and comes with another id; or, where ids are missing,
        if what came before is whole.
        """
        begun = self._begun.get(index)
        if begun is None:
            begun = self._begun[index] = _Begun(index, call_id)
        elif name and _is_another(begun, call_id, arguments):
            begun = self._begun[index] = _Begun(_OWN + self._given, call_id)
            self._given += 1
        begun.call_id = begun.call_id or call_id
        begun.arguments += arguments
        return begun.number


def _is_another(begun: _Begun, call_id: str, arguments: str) -> bool:
    if call_id and begun.call_id:
        return call_id != begun.call_id
    return bool(arguments) and begun.is_over()
