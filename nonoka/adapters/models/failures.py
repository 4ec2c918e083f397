"""Which failure each outcome of a request is, and whether waiting may help. All model adapters decide here."""

from __future__ import annotations

from dataclasses import dataclass

from nonoka.errors import ModelFailure

#: Statuses that say "try again" without being 5xx: request timeout, conflict, too early.
_TRANSIENT_4XX = {408, 409, 425}
_MEND_REQUEST = "mend what it names, then retry; or start again with another --model"


@dataclass(frozen=True)
class Asked:
    """Whom a request went to, for the messages: the model's name, the server's, and the variables that choose.

    ``url_variable`` is empty where the address can't be chosen, ``key_variable`` where there is no single key.
    """

    model: str
    server: str
    key_variable: str = "OPENAI_API_KEY"
    url_variable: str = "OPENAI_BASE_URL"

    @property
    def mend_key(self) -> str:
        """What to do about a key that is refused."""
        mend = f"set {self.key_variable} to a key for this server" if self.key_variable else "mend its credentials"
        return f"{mend}, or {self.url_variable} to another server" if self.url_variable else mend

    @property
    def mend_model(self) -> str:
        """What to do about a model that is not there."""
        mend = "choose another with --model or NONOKA_MODEL"
        return f"{mend}, or check {self.url_variable}" if self.url_variable else mend


def failure_of_status(
    asked: Asked, status: int, said: str, *, code: str = "", retry_after_s: float | None = None
) -> ModelFailure:
    """The failure that an HTTP status means. ``said`` is the server's own message, ``code`` its error code."""
    waits = None if retry_after_s is None else round(retry_after_s * 1000)
    because = f": {said}" if said else ""
    if status in (401, 403) or code == "invalid_api_key":
        return ModelFailure(
            "unauthorized",
            f"{asked.server} refused the key ({status}){because}; {asked.mend_key}",
            transient=False,
        )
    if status == 404 or code == "model_not_found":
        return ModelFailure(
            "unknown_model",
            f"{asked.server} has no model {asked.model!r} ({status}){because}; {asked.mend_model}",
            transient=False,
        )
    if status == 429:
        return ModelFailure(
            "rate_limited",
            f"{asked.server} asks for fewer requests ({status}){because}",
            transient=True,
            retry_after_ms=waits,
        )
    if status >= 500 or status in _TRANSIENT_4XX:
        return ModelFailure(
            "server_error",
            f"{asked.server} failed ({status}){because}",
            transient=True,
            retry_after_ms=waits,
        )
    return ModelFailure(
        "bad_request",
        f"{asked.server} refused the request ({status}){because}; {_MEND_REQUEST}",
        transient=False,
    )


def quota_used_up(asked: Asked, status: int, said: str) -> ModelFailure:
    """Out of credit: it comes as a 429 or 402, but waiting doesn't help."""
    return ModelFailure(
        "rate_limited",
        f"{asked.server} says that the account's quota is used up ({status}): {said}; top it up, then retry",
        transient=False,
    )


def redirected(asked: Asked, status: int) -> ModelFailure:
    """The server moved; following it would be a second request."""
    mend = f"; set {asked.url_variable} to the address it redirects to" if asked.url_variable else ""
    return ModelFailure("bad_request", f"{asked.server} redirects ({status}){mend}", transient=False)


def timed_out(asked: Asked, waited_for: str) -> ModelFailure:
    """The server took too long."""
    return ModelFailure("timeout", f"{asked.server}: {waited_for}", transient=True)


def no_connection(asked: Asked, why: str) -> ModelFailure:
    """The connection failed before any of the answer came."""
    return ModelFailure("network", f"{asked.server} can't be reached: {why}", transient=True)


def cut_off(asked: Asked, why: str) -> ModelFailure:
    """The answer began and did not come to its end."""
    return ModelFailure("cut_off", f"{asked.server} broke off its answer: {why}", transient=True)


def server_broke(asked: Asked, why: str) -> ModelFailure:
    """The server reported an error of its own, or sent what nobody can read."""
    return ModelFailure("server_error", f"{asked.server} failed: {why}", transient=True)


def refused(asked: Asked, why: str) -> ModelFailure:
    """The same request will never be answered."""
    return ModelFailure(
        "bad_request", f"{asked.server} refused the request: {why}; {_MEND_REQUEST}", transient=False
    )


def empty_answer(asked: Asked, why: str = "") -> ModelFailure:
    """The answer has neither text nor a call."""
    because = f" ({why})" if why else ""
    return ModelFailure(
        "empty_answer", f"{asked.model!r} answered with neither text nor a call{because}", transient=True
    )


def not_set_up(message: str) -> ModelFailure:
    """This process can't ask that model."""
    return ModelFailure("not_set_up", message, transient=False)
