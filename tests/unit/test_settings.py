"""Where a setting comes from, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka.errors import UsageError
from nonoka.settings import load_settings


def test_flags_beat_the_environment_and_that_beats_the_file(tmp_path: Path) -> None:
    """Each of the three sets what the ones above it leave open."""
    (tmp_path / "nonoka.toml").write_text('model = "a"\nagent = "b.py:x"\nlog_level = "info"\n')
    settings = load_settings(tmp_path, {"NONOKA_MODEL": "c", "NONOKA_AGENT": "d.py:x"}, {"model": "e"})
    assert (settings.model, settings.agent, settings.log_level) == ("e", "d.py:x", "info")


def test_the_store_is_the_nearest_projects(tmp_path: Path) -> None:
    """The nearest directory upward that has a .nonoka/, else the working directory."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert load_settings(inner, {}).db == inner / ".nonoka/sessions.db"
    (tmp_path / ".nonoka").mkdir()
    assert load_settings(inner, {}).db == tmp_path / ".nonoka/sessions.db"


def test_a_named_store_is_relative_to_the_working_directory(tmp_path: Path) -> None:
    """And everything that belongs to it lies beside it."""
    settings = load_settings(tmp_path, {"NONOKA_DB": "x/y.db"})
    assert settings.db == tmp_path / "x/y.db"
    assert settings.home == tmp_path / "x"


def test_paths_in_a_file_are_meant_from_its_own_directory(tmp_path: Path) -> None:
    """Wherever below it somebody stands; a module is no path, and an absolute path stays."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    file = tmp_path / "nonoka.toml"
    file.write_text('db = "x/y.db"\nagent = "agents.py:clerk"\nmodel = "script:s.yaml"\n')
    settings = load_settings(inner, {})
    assert settings.db == tmp_path / "x/y.db"
    assert (settings.agent, settings.model) == (f"{tmp_path}/agents.py:clerk", f"script:{tmp_path}/s.yaml")
    file.write_text('db = "/x/y.db"\nagent = "agents:clerk"\nmodel = "openai:gpt-4o"\n')
    settings = load_settings(inner, {})
    assert (str(settings.db), settings.agent, settings.model) == ("/x/y.db", "agents:clerk", "openai:gpt-4o")


def test_limits_are_set_by_their_own_names(tmp_path: Path) -> None:
    """From anywhere; what nobody set keeps the agent's or the default."""
    (tmp_path / "nonoka.toml").write_text("max_cost_usd = 1.5\n")
    settings = load_settings(tmp_path, {"NONOKA_MAX_MODEL_TURNS": "7"}, {"max_wall_s": 3})
    assert settings.limits.model_dump(exclude_unset=True) == {
        "max_cost_usd": 1.5,
        "max_model_turns": 7,
        "max_wall_s": 3.0,
    }


@pytest.mark.parametrize(
    ("file", "environ", "flags", "told"),
    [
        ("", {"NONOKA_MAX_MODEL_TURNS": "many"}, {}, r"NONOKA_MAX_MODEL_TURNS \(environment\).*'many'"),
        ("", {}, {"max_model_turns": 0}, r"max_model_turns \(command line\)"),
        ("modle = 1", {}, {}, r"nonoka\.toml: no setting is called 'modle'"),
        ("= 1", {}, {}, r"nonoka\.toml can't be read"),
        ('log_level = "loud"', {}, {}, r"log_level .*nonoka\.toml"),
    ],
)
def test_a_wrong_setting_is_told_with_its_place(
    tmp_path: Path, file: str, environ: dict[str, str], flags: dict[str, object], told: str
) -> None:
    """Which one, where it came from, and what it was."""
    if file:
        (tmp_path / "nonoka.toml").write_text(file)
    with pytest.raises(UsageError, match=told):
        load_settings(tmp_path, environ, flags)
