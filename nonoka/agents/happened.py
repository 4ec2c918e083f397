"""What a tool's probe answers about a call whose outcome is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Happened:
    """The call took effect; ``result`` is what it would have returned. A probe returns None where it didn't."""

    result: Any = None
