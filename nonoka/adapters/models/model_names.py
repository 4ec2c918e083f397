"""What the name of a model says, and what was probably meant where it says nothing. The catalog calls this."""

from __future__ import annotations

import difflib

from nonoka.adapters.models.provider_table import PROVIDERS
from nonoka.errors import UsageError

SCRIPT = "script"

#: How the names of models begin, and who makes those.
_MAKERS = {
    "gpt": "openai",
    "chatgpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "grok": "xai",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "command": "cohere",
}
_WHAT_THERE_IS = (
    "there is openai:NAME (chat completions, such as openai:gpt-4o-mini), openai-responses:NAME, anthropic:NAME, "
    "more in docs/models.md, and script:FILE (answers from a YAML file)"
)


def split(name: str) -> tuple[str, str]:
    """The kind of a model and the rest of its name. Raises UsageError, with a suggestion where one is near."""
    kind, _, rest = name.strip().partition(":")
    if (kind in PROVIDERS or kind == SCRIPT) and rest.strip():
        return kind, rest.strip()
    meant = _meant(kind, rest.strip())
    if meant:
        raise UsageError(f"no model {name!r}; did you mean {meant!r}? (docs/models.md lists what there is)")
    raise UsageError(f"no model {name!r}; {_WHAT_THERE_IS}")


def _meant(kind: str, rest: str) -> str | None:
    if not kind or kind in PROVIDERS or kind == SCRIPT:
        return None
    if not rest:
        return _bare(kind)
    near = _maker(kind) or next(iter(difflib.get_close_matches(kind.lower(), [*PROVIDERS, SCRIPT], n=1)), None)
    return f"{near}:{rest}" if near else None


def _bare(name: str) -> str | None:
    if name.endswith((".yaml", ".yml")):
        return f"{SCRIPT}:{name}"
    maker, slash, rest = name.partition("/")
    if slash and rest and maker in PROVIDERS:
        return f"{maker}:{rest}"
    made_by = _maker(name)
    return f"{made_by}:{name}" if made_by else None


def _maker(name: str) -> str | None:
    return next((maker for start, maker in _MAKERS.items() if name.lower().startswith(start)), None)
