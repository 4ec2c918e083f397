"""Commands run without their worker's keys."""

from __future__ import annotations

import pytest

from nonoka.agents.environment import clean_environment

KEPT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/u",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "xterm",
    "TMPDIR": "/tmp",
    "VIRTUAL_ENV": "/v",
    "PWD": "/w",
    "OLDPWD": "/",
    "SHELL": "/bin/bash",
    "TOKENIZERS_PARALLELISM": "false",
    "KEYBOARD_LAYOUT": "de",
    "MONKEY": "see",
    "COMPASS_MODE": "n",
    "HTTPS_PROXY": "http://proxy:3128",
    "DATABASE_URL": "sqlite:///x.db",
    "PYTHONPATH": "/a:/b",
    "GIT_AUTHOR_EMAIL": "me@example.org",
    "XDG_RUNTIME_DIR": "/run/user/1",
}


def test_what_commands_need_stays() -> None:
    assert clean_environment(KEPT) == KEPT


SECRET_NAMES = """
OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_AUTH_TOKEN API_KEY GITHUB_TOKEN GITHUBTOKEN my_secret_value PASSWORD
PGPASSWORD MYSQL_PWD AWS_PROFILE AWS_ACCESS_KEY_ID GOOGLE_APPLICATION_CREDENTIALS SIGNING_KEY SSH_AUTH_SOCK
GPG_AGENT_INFO GNUPGHOME NONOKA_DB NONOKA_CALL SENTRY_DSN NPM_CONFIG__AUTH HF_HOME openai_api_key REDIS_PASS
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_what_looks_like_a_secret_by_name_goes(name: str) -> None:
    assert clean_environment({name: "x"}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "postgres://user:hunter2@db/x",
        "https://ghost@host/x",
        "sk-" + "a" * 30,
        "ghp_" + "b" * 36,
        "AKIA" + "C" * 16,
        "-----BEGIN RSA PRIVATE KEY-----\nabc",
    ],
)
def test_what_looks_like_a_secret_by_value_goes(value: str) -> None:
    assert clean_environment({"SETTING": value}) == {}
