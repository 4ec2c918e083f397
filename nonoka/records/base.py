"""What every record is: frozen, closed, and JSON both ways."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Record(BaseModel):
    """An immutable value that is kept or sent. Unknown fields are refused, never dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")
