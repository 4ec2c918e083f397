"""Names of models: what they mean, and what is said where they mean nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.errors import ModelFailure, UsageError


def test_a_script_is_named_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.yaml").write_text("- text: hi")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    models = ModelCatalog({})
    assert models.normalized("script:../s.yaml") == f"script:{tmp_path / 's.yaml'}"
    assert models.normalized(f"script:{tmp_path}/s.yaml") == f"script:{tmp_path / 's.yaml'}"


def test_a_script_that_is_missing_or_broken_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    models = ModelCatalog({})
    (tmp_path / "broken.yaml").write_text("- txt: hi")
    for name in ("missing.yaml", "broken.yaml"):
        with pytest.raises(UsageError, match=name):
            models.normalized(f"script:{tmp_path / name}")
        with pytest.raises(UsageError, match=name):
            models.check(f"script:{tmp_path / name}")


def test_an_openai_name_is_kept_as_it_is() -> None:
    assert ModelCatalog({}).normalized(" openai:org/model:7b ") == "openai:org/model:7b"


@pytest.mark.parametrize("name", ["", "llama", "openai:", "script: ", "nothing-near:x"])
def test_any_other_name_is_refused_with_what_there_is(name: str) -> None:
    models = ModelCatalog({"OPENAI_API_KEY": "k"})
    for ask in (models.normalized, models.check):
        with pytest.raises(UsageError, match=r"openai:NAME.*openai-responses:NAME.*anthropic:NAME.*script:FILE"):
            ask(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4", "openai:gpt-4"),
        ("o3-mini", "openai:o3-mini"),
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("gemini-2.5-pro", "google:gemini-2.5-pro"),
        ("anthropic/claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("claude-4:", "anthropic:claude-4"),
        ("demo.yaml", "script:demo.yaml"),
        ("opnai:x", "openai:x"),
        ("OpenAI:x", "openai:x"),
        ("openai-response:x", "openai-responses:x"),
        ("antropic:x", "anthropic:x"),
        ("google-gla:gemini-2.5-pro", "google:gemini-2.5-pro"),
        ("grok:grok-4", "xai:grok-4"),
        ("claude:sonnet:1", "anthropic:sonnet:1"),
        ("scripts:a.yaml", "script:a.yaml"),
    ],
)
def test_a_name_that_is_nearly_one_is_refused_with_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"no model {name!r}; did you mean {meant!r}?")):
        ModelCatalog({}).normalized(name)


def test_openai_needs_a_key_or_a_server_and_says_so() -> None:
    for environment in ({}, {"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": ""}):
        with pytest.raises(UsageError, match="set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server"):
            ModelCatalog(environment).check("openai:m")
    ModelCatalog({"OPENAI_API_KEY": "k"}).check("openai:m")
    ModelCatalog({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}).check("openai:m")


@pytest.mark.parametrize("url", ["nonsense", "localhost:8000", "http://", "http://[bad/v1", "http://h:99999/v1"])
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        ModelCatalog({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}).check("openai:m")


async def test_a_model_that_is_not_set_up_here_fails_for_good_and_is_found_once_it_is() -> None:
    environment: dict[str, str] = {}
    models = ModelCatalog(environment)
    with pytest.raises(ModelFailure, match="OPENAI_API_KEY") as raised:
        await models.get("openai:m")
    assert (raised.value.kind, raised.value.transient) == ("not_set_up", False)
    with pytest.raises(ModelFailure) as raised:
        await models.get("nope:m")
    assert (raised.value.kind, raised.value.transient) == ("not_set_up", False)
    environment["OPENAI_API_KEY"] = "k"
    found = await models.get("openai:m")
    assert await models.get("openai:m") is found
    assert await models.get("openai:other") is not found


def test_the_catalog_alone_loads_neither_pydantic_ai_nor_yaml() -> None:
    """Enqueueing and listing must start fast; the imports come with the first use of a model."""
    program = (
        "import sys\n"
        "from nonoka.adapters.models.catalog import ModelCatalog\n"
        "models = ModelCatalog({'OPENAI_API_KEY': 'k', 'ANTHROPIC_API_KEY': 'k', 'AZURE_OPENAI_API_KEY': 'k',\n"
        "    'AZURE_OPENAI_ENDPOINT': 'http://localhost/v1'})\n"
        "for name in ('openai:m', 'openai-responses:m', 'azure:m', 'ollama:m'):\n"
        "    models.check(models.normalized(name))\n"
        "print(sorted({'pydantic_ai', 'openai', 'yaml'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
