"""A Runner whose models wait less long than a person would: for what a server does not send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from nonoka import Agent, Runner
from nonoka.adapters.models.openai_compatible import openai_compatible
from nonoka.adapters.models.patience import Timeouts
from nonoka.adapters.models.provider_settings import Endpoint
from nonoka.adapters.models.provider_table import PROVIDERS, SpeaksOpenAI
from nonoka.agents.registry import Registry
from nonoka.app import open_ports
from nonoka.engine.ports import Ports
from nonoka.ports.model import Model
from nonoka.settings import Settings


class ImpatientModels:
    """Every name is one model behind this address, asked with these times."""

    def __init__(self, url: str, timeouts: Timeouts) -> None:
        provider = PROVIDERS["openai"]
        assert isinstance(provider, SpeaksOpenAI)
        self._model = openai_compatible(provider, "m", Endpoint(url, "k"), timeouts)

    def normalized(self, name: str) -> str:
        """As it is."""
        return name

    def check(self, name: str) -> None:
        """Each can be asked."""

    async def get(self, name: str) -> Model:
        """The one."""
        return self._model


def impatient_runner(db: Path, url: str, agent: Agent, timeouts: Timeouts) -> Runner:
    """A Runner over the store in this file; its models are at this address."""

    @asynccontextmanager
    async def opening(settings: Settings, agents: Registry) -> AsyncIterator[Ports]:
        async with open_ports(settings, agents=agents) as ports:
            yield replace(ports, models=ImpatientModels(url, timeouts))

    return Runner(db=str(db), model="openai:m", agents=[agent], opening=opening)
