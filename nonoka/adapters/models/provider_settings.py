"""What a provider needs of this process: a key, an address, a package. The catalog calls this."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from nonoka.adapters.models.provider_table import HasItsOwnClient, SpeaksOpenAI
from nonoka.errors import UsageError

#: Servers of one's own mostly want no key, but the client library demands that there is one.
_PLACEHOLDER_KEY = "none"


@dataclass(frozen=True)
class Endpoint:
    """Where a provider that speaks OpenAI's protocol is asked, and with which key."""

    base_url: str
    api_key: str


def endpoint(name: str, provider: SpeaksOpenAI, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint by the variables that are set. Raises UsageError, saying which to set, where one is missing."""
    own_url = _setting(environment, provider.url_variable)
    base_url = own_url or provider.url
    if not base_url:
        raise UsageError(f"{name!r} needs an address: set {provider.url_variable} to one such as {_SOME_URL}")
    if own_url:
        _check_url(provider.url_variable, own_url)
    api_key = _first(environment, provider.keys)
    if not (api_key or own_url or provider.keyless):
        raise UsageError(
            f"{name!r} needs a key: set {_either(provider.keys)}, or {provider.url_variable} for a local server, "
            f"{_OR_ANOTHER}"
        )
    return Endpoint(base_url, api_key or _PLACEHOLDER_KEY)


def arguments(name: str, provider: HasItsOwnClient, environment: Mapping[str, str]) -> dict[str, str]:
    """What a provider's client is made from. Raises UsageError where a package or a variable is missing."""
    if provider.package and not _installed(provider.package):
        raise UsageError(
            f"{name!r} needs the package {provider.package!r}: pip install '{provider.extra}', {_OR_ANOTHER}"
        )
    missing = [_either(names) for names in provider.needs.values() if not _first(environment, names)]
    if missing:
        raise UsageError(f"{name!r} is not set up: set {' and '.join(missing)}, {_OR_ANOTHER}")
    wanted = {**provider.needs, **provider.takes}
    found = {argument: _first(environment, names) for argument, names in wanted.items()}
    for argument in ("base_url", "azure_endpoint"):
        if url := found.get(argument):
            _check_url(wanted[argument][0], url)
    return {argument: value for argument, value in found.items() if value}


_SOME_URL = "http://localhost:8000/v1"
_OR_ANOTHER = "or choose another model with --model or NONOKA_MODEL"


def _setting(environment: Mapping[str, str], variable: str) -> str:
    return environment.get(variable, "").strip()


def _first(environment: Mapping[str, str], variables: tuple[str, ...]) -> str:
    return next((found for variable in variables if (found := _setting(environment, variable))), "")


def _either(variables: tuple[str, ...]) -> str:
    return " or ".join(variables)


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package that it is in is missing
        return False


def _check_url(variable: str, base_url: str) -> None:
    try:
        url = urlsplit(base_url)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        # The address isn't shown: it may hold a password.
        raise UsageError(f"{variable} is no address of a server; set it to one such as {_SOME_URL}")
