"""The file behind ``script:FILE``: what it may hold, and reading it. The script model and the catalog call this.

Importing it loads YAML, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from nonoka.errors import UsageError
from nonoka.records.base import JsonObject, Record

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ScriptedCall(Record):
    """A call that the model asks for; ``args`` as text is given to the session as it is."""

    id: str = ""
    name: Annotated[str, Field(min_length=1)]
    args: JsonObject | str = Field(default={})


class ScriptedUsage(Record):
    """What the response is said to have cost."""

    input_tokens: Annotated[int, Field(ge=0)] = 0
    output_tokens: Annotated[int, Field(ge=0)] = 0


class ScriptedError(Record):
    """What goes wrong in place of the response, the first ``times`` times, or always."""

    status: Annotated[int, Field(ge=400, le=599)] | None = None
    kind: Literal["timeout", "drop"] | None = None
    retry_after_s: Annotated[float, Field(ge=0)] | None = None
    times: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _is_one_error(self) -> ScriptedError:
        if (self.status is None) == (self.kind is None):
            raise ValueError("give either status or kind")
        return self


class ScriptedResponse(Record):
    """One answer of the model, or what goes wrong instead."""

    text: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    delay_s: Annotated[float, Field(ge=0)] = 0
    usage: ScriptedUsage | None = None
    error: ScriptedError | None = None


Responses = tuple[ScriptedResponse, ...]
_responses = TypeAdapter(Responses)
_steps = TypeAdapter(dict[str, Responses])


def read_script(path: Path) -> tuple[Responses, dict[str, Responses]]:
    """The responses in a file, and those of a plan's steps that have some of their own, by the step's id.

    Parsed once for each state of the file. Raises UsageError with all that is wrong.
    """
    return _parsed(path, *state_of(path))


def state_of(path: Path) -> tuple[int, int]:
    """What is another once the file has changed. Raises UsageError."""
    try:
        found = path.stat()
    except OSError as error:
        raise UsageError(f"script {str(path)!r} can't be read: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=32)
def _parsed(path: Path, mtime_ns: int, size: int) -> tuple[Responses, dict[str, Responses]]:
    try:
        content: object = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except OSError as error:
        raise UsageError(f"script {str(path)!r} can't be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"script {str(path)!r} is not YAML: {error}") from error
    try:
        steps = content.get("steps") if isinstance(content, dict) else None
        return _responses.validate_python(_listed(path, content)), _steps.validate_python(steps or {})
    except ValidationError as error:
        wrong = "\n".join(f"  {_place(e['loc'])}: {e['msg']}" for e in error.errors(include_url=False))
        raise UsageError(f"script {str(path)!r} is not a list of responses:\n{wrong}") from error


def _listed(path: Path, content: object) -> list[object]:
    if isinstance(content, dict):
        if unknown := sorted(str(key) for key in content if key not in ("responses", "steps")):
            told = f"only 'responses' and 'steps' are known here, not {', '.join(unknown)}"
            raise UsageError(f"script {str(path)!r}: {told}")
        content = content.get("responses", [] if "steps" in content else None)
    if isinstance(content, list):
        return content
    raise UsageError(f"script {str(path)!r} holds no list of responses, each with text, tool_calls or error")


def _place(loc: tuple[int | str, ...]) -> str:
    first, *rest = loc
    where = f"response {first + 1}" if isinstance(first, int) else str(first)
    return f"{where}: {'.'.join(map(str, rest))}" if rest else where
