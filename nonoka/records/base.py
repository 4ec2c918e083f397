"""What every record is: frozen, closed, and JSON both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Record(BaseModel):
    """An immutable value that is kept or sent. Unknown fields are refused, never dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values in these fields, which are not validated.

        As pydantic's own, in half its time: a turn makes some thirty copies inside transactions. A record has
        nothing but its fields, and shares what is in them.
        """
        if deep:
            return super().model_copy(update=update, deep=True)
        changed = update or {}
        copied = self.__class__.__new__(self.__class__)
        object.__setattr__(copied, "__dict__", {**self.__dict__, **changed})
        object.__setattr__(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changed.keys())
        object.__setattr__(copied, "__pydantic_extra__", None)
        object.__setattr__(copied, "__pydantic_private__", None)
        return copied
