"""The table of providers: each row names what pydantic-ai has, and says what is missing here."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from nonoka.adapters.models import provider_settings
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.models.classes import model_class, provider_class
from nonoka.adapters.models.provider_table import PROVIDERS, HasItsOwnClient, SpeaksOpenAI
from nonoka.errors import ModelFailure, UsageError

ROOT = Path(__file__).parents[4]
SPEAKING = {name: row for name, row in PROVIDERS.items() if isinstance(row, SpeaksOpenAI)}
OWN = {name: row for name, row in PROVIDERS.items() if isinstance(row, HasItsOwnClient)}
WITH_PACKAGE = sorted(name for name, row in OWN.items() if row.package)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is where no extra is: what this environment happens to have is hidden."""
    for row in OWN.values():
        if row.package:
            monkeypatch.setitem(sys.modules, row.package.partition(".")[0], None)


def environment_of(row: HasItsOwnClient) -> dict[str, str]:
    return {
        names[0]: "https://h/v1" if "url" in of or "endpoint" in of else "k" for of, names in row.needs.items()
    }


@pytest.mark.parametrize("name", sorted(SPEAKING))
async def test_who_speaks_openais_protocol_is_loaded_by_its_row(name: str) -> None:
    row = SPEAKING[name]
    async with AsyncOpenAI(base_url="http://127.0.0.1:1/v1", api_key="k") as client:
        provider = provider_class(row.provider)(openai_client=client)
        model = model_class(row.model)("openai/m", provider=provider)
        assert model.base_url == "http://127.0.0.1:1/v1/"
        assert model.system == name.removesuffix("-responses")
        assert "max_retries" not in model.unsupported_settings


@pytest.mark.parametrize("name", sorted(name for name, row in SPEAKING.items() if row.url and name != "ollama"))
async def test_the_address_in_the_table_is_the_providers_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = SPEAKING[name]
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv(row.keys[0], "k")
    async with provider_class(row.provider)() as provider:
        assert provider.base_url.rstrip("/") == row.url


@pytest.mark.parametrize("name", sorted(name for name, row in SPEAKING.items() if not row.keyless))
def test_a_key_that_is_missing_is_named_with_the_way_round_it(name: str) -> None:
    row = SPEAKING[name]
    with pytest.raises(UsageError) as raised:
        ModelCatalog({}).check(f"{name}:m")
    for part in (f"'{name}:m'", *row.keys, row.url_variable, "--model"):
        assert part in str(raised.value)
    for variable in row.keys:
        ModelCatalog({variable: "k"}).check(f"{name}:m")
    ModelCatalog({row.url_variable: "http://localhost:1/v1"}).check(f"{name}:m")
    with pytest.raises(UsageError, match=row.url_variable):
        ModelCatalog({row.url_variable: "nonsense", row.keys[0]: "k"}).check(f"{name}:m")


@pytest.mark.parametrize("name", ["vllm", "litellm"])
def test_a_server_of_ones_own_needs_its_address_and_no_key(name: str) -> None:
    with pytest.raises(UsageError, match=f"set {SPEAKING[name].url_variable}"):
        ModelCatalog({}).check(f"{name}:m")
    ModelCatalog({SPEAKING[name].url_variable: "http://localhost:8000/v1"}).check(f"{name}:m")


def test_ollama_needs_nothing() -> None:
    ModelCatalog({}).check("ollama:llama3")


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("name", WITH_PACKAGE)
async def test_a_package_that_is_missing_is_named_with_how_to_install_it(name: str) -> None:
    row = OWN[name]
    models = ModelCatalog(environment_of(row))
    with pytest.raises(UsageError, match="needs the package") as raised:
        models.check(f"{name}:m")
    for part in (f"'{name}:m'", f"pip install '{row.extra}'", "--model"):
        assert part in str(raised.value)
    with pytest.raises(ModelFailure) as failed:
        await models.get(f"{name}:m")
    assert (failed.value.kind, failed.value.transient) == ("not_set_up", False)
    assert f"pip install '{row.extra}'" in str(failed.value)


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_variable_that_is_missing_is_named_and_each_is_an_argument(name: str) -> None:
    row = replace(OWN[name], package="")
    with pytest.raises(UsageError) as raised:
        provider_settings.arguments(f"{name}:m", row, {})
    for names in row.needs.values():
        assert all(variable in str(raised.value) for variable in names)
    environment = environment_of(row)
    found = provider_settings.arguments(f"{name}:m", row, environment)
    assert found == {argument: environment[names[0]] for argument, names in row.needs.items()}


@pytest.mark.parametrize("name", WITH_PACKAGE)
def test_an_extra_is_one_that_there_is(name: str) -> None:
    distribution, _, extra = OWN[name].extra.rstrip("]").partition("[")
    if distribution == "nonoka":
        ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert extra in ours["optional-dependencies"]
    else:
        assert extra in (importlib.metadata.metadata(distribution).get_all("Provides-Extra") or ())


@pytest.mark.parametrize("name", sorted(OWN))
def test_the_classes_of_a_row_are_where_it_says(name: str) -> None:
    """Most can't be imported without their package, but the files can be read."""
    for package, of in (("providers", OWN[name].provider), ("models", OWN[name].model)):
        module, _, attribute = of.partition(":")
        found = importlib.util.find_spec(f"pydantic_ai.{package}.{module}")
        assert found is not None
        assert found.origin is not None
        source = Path(found.origin)
        texts = [path.read_text(encoding="utf-8") for path in source.parent.glob("*.py")]
        assert any(f"class {attribute}(" in text or f"class {attribute}:" in text for text in texts)


def test_every_name_is_documented_with_its_variables_and_its_extra() -> None:
    """docs/models.md is where a user looks."""
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1].removesuffix(":NAME"): line for line in page.splitlines() if line.startswith("| `")}
    for name, row in PROVIDERS.items():
        line = rows.get(name, "")
        assert all(f"`{variable}`" in line for variable in _variables(row)), name
        if isinstance(row, HasItsOwnClient) and row.extra:
            assert f"`{row.extra}`" in line


def _variables(row: SpeaksOpenAI | HasItsOwnClient) -> list[str]:
    if isinstance(row, SpeaksOpenAI):
        return [*row.keys, row.url_variable]
    wanted: Mapping[str, tuple[str, ...]] = {**row.needs, **row.takes}
    return [variable for names in wanted.values() for variable in names]
