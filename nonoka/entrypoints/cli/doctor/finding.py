"""What a check found, and how that is shown. Every module of this package makes these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from nonoka.entrypoints.cli.figures import printable
from nonoka.entrypoints.cli.screen import Span, Style
from nonoka.records.base import JsonObject

_STYLES: dict[str, Style] = {"ok": "good", "note": "warn", "wrong": "bad"}


@dataclass(frozen=True, slots=True)
class Finding:
    """``wrong`` is in the way, ``note`` tells why something waits; a remedy says what to do."""

    check: str
    state: Literal["ok", "note", "wrong"]
    found: str
    remedy: str | None = None


def lines(findings: Iterable[Finding]) -> list[Span]:
    """A line each, and under it its remedy."""
    spans = []
    for finding in findings:
        spans += [
            Span(f"{finding.state:<5}", _STYLES[finding.state]),
            Span(f"  {finding.check:<9}  {printable(finding.found)}\n"),
        ]
        if finding.remedy is not None:
            spans.append(Span(f"{'':18}{printable(finding.remedy)}\n", "strong"))
    return spans


def contract(findings: list[Finding]) -> JsonObject:
    """The same for programs; docs/cli.md says what each key holds."""
    return {"well": well(findings), "checks": [asdict(finding) for finding in findings]}


def well(findings: Iterable[Finding]) -> bool:
    """Nothing is in the way."""
    return all(finding.state != "wrong" for finding in findings)
