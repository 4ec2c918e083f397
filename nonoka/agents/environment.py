"""What a command may see of its worker's environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: whole words of a name (between underscores) that say secret
_WORD = re.compile(
    "(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|COOKIE|WEBHOOK)S?|PASSWD|PASSPHRASE|PASS|PWD|CREDS|AUTH|AUTHORIZATION"
    "|JWT|PAT|PRIVATE|DSN|NETRC|PGPASSFILE|.*(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|(API|ACCESS|SECRET|PRIVATE)KEY)"
)
#: whole families that hold keys, or name the account they belong to
_FAMILY = re.compile(
    "(NONOKA|OPENAI|ANTHROPIC|GEMINI|MISTRAL|GROQ|COHERE|OPENROUTER|DEEPSEEK|HF|AWS|AZURE|GOOGLE|GCP|GCLOUD|CLOUDSDK"
    "|VAULT|SSH_AGENT|SSH_AUTH)_|GPG|GNUPG"
)
#: names that hold such a word and no secret
_HARMLESS = frozenset({"PWD", "OLDPWD"})
#: a user name or password in a URL; keys as their issuers mark them
_VALUE = re.compile(
    r"[a-z][a-z0-9+.-]*://[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|A(?:KI|SI)A[A-Z0-9]{16}\b|AIza[\w-]{30,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)",
    re.IGNORECASE,
)


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what looks like a key or a secret, by name or by value.

    Weakness: it goes by looks. A command also reads what its user may read: ~/.aws, ~/.netrc, and in /proc the
    environment of that user's other processes; a worker's own is closed to it (workers/secrecy.py).
    """
    return {name: value for name, value in env.items() if not _is_secret(name, value)}


def _is_secret(name: str, value: str) -> bool:
    upper = name.upper()
    if upper in _HARMLESS:
        return False
    if _FAMILY.match(upper) or _VALUE.search(value):
        return True
    return any(_WORD.fullmatch(word) for word in re.split(r"[^A-Z0-9]+", upper))
