"""The models by the names that sessions store, such as ``openai:NAME`` and ``script:FILE``. The app makes one.

What a model needs is imported at its first use: pydantic-ai's classes cost most of a second.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Mapping
from pathlib import Path

from nonoka.adapters.models import provider_settings
from nonoka.adapters.models.failures import not_set_up
from nonoka.adapters.models.model_names import SCRIPT, split
from nonoka.adapters.models.provider_table import PROVIDERS, SpeaksOpenAI
from nonoka.errors import UsageError
from nonoka.ports.model import Model


class ModelCatalog:
    """Finds models by name and keeps those it has found. The environment is read when a model is asked for."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._models: dict[str, Model] = {}

    def normalized(self, name: str) -> str:
        """The name with an absolute path. Raises UsageError for an unknown kind and for an unusable script."""
        kind, rest = split(name)
        if kind != SCRIPT:
            return f"{kind}:{rest}"
        path = Path(rest).expanduser().absolute()
        _read_script(path)
        return f"{kind}:{os.path.normpath(path)}"

    def check(self, name: str) -> None:
        """Raise UsageError, saying what to set, install or mend, where this process can't ask that model."""
        kind, rest = split(name)
        if kind == SCRIPT:
            _read_script(Path(rest))
            return
        provider = PROVIDERS[kind]
        if isinstance(provider, SpeaksOpenAI):
            provider_settings.endpoint(name, provider, self._environment)
        else:
            provider_settings.arguments(name, provider, self._environment)

    async def get(self, name: str) -> Model:
        """The model by its stored name. Raises ModelFailure("not_set_up") where this process can't ask it."""
        if name not in self._models:
            # In a thread: the imports would stop every other session on this event loop.
            self._models[name] = await asyncio.to_thread(self._load, name)
        return self._models[name]

    def _load(self, name: str) -> Model:
        try:
            return self._made(name)
        except UsageError as error:
            raise not_set_up(str(error)) from error
        except ImportError as error:
            raise not_set_up(f"{name!r} can't be loaded: {error}") from error

    def _made(self, name: str) -> Model:
        kind, rest = split(name)
        if kind == SCRIPT:
            _read_script(Path(rest))
            script: Model = importlib.import_module("nonoka.adapters.models.script").ScriptModel(Path(rest))
            return script
        provider = PROVIDERS[kind]
        if isinstance(provider, SpeaksOpenAI):
            endpoint = provider_settings.endpoint(name, provider, self._environment)
            opener = importlib.import_module("nonoka.adapters.models.openai_compatible")
            speaks: Model = opener.openai_compatible(provider, rest, endpoint)
            return speaks
        arguments = provider_settings.arguments(name, provider, self._environment)
        opener = importlib.import_module("nonoka.adapters.models.own_client")
        own: Model = opener.own_client(kind, provider, rest, arguments)
        return own


def _read_script(path: Path) -> None:
    importlib.import_module("nonoka.adapters.models.script_file").read_script(path)
