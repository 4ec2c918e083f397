"""YAML and JSON text as plain values that know their lines. plan_file.py reads plans with this.

Scalars are read as YAML 1.2 does, so that nobody is bitten by 1.1: ``yes``, ``no``, ``on`` and ``off`` are text,
so are dates, ``1:30``, ``0644`` and ``1_000``; keys are always text. Importing this loads YAML.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

import yaml
from pydantic import JsonValue

from nonoka.decisions.plan_fault import Path
from nonoka.errors import PlanInvalid

#: Levels of lists and objects within one another.
MAX_DEPTH = 100
#: What aliases may repeat altogether; a few lines of them could stand for more than fits into memory.
MAX_REPEATED = 100_000

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset(f"{_TAG}{name}" for name in ("null", "bool", "int", "float", "str", "map", "seq"))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  PyYAML's way


for _name, _pattern, _first in (
    ("null", r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    ("int", r"(?:[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)\Z", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)?\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z", list("-+.0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.|[eE][-+]?[0-9]+)\Z", list("-+0123456789")),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z", list("-+.")),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), _first)


@dataclass(frozen=True, slots=True)
class Document:
    """What a text holds, and on which line (from 1) each part of it begins."""

    name: str
    value: JsonValue
    lines: dict[Path, int]

    def place(self, path: Path) -> str:
        """``name:line`` of the part, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"


def read_document(text: str, name: str) -> Document:
    """The one document in the text; JSON where ``name`` ends so. Raises PlanInvalid, each error with its line."""
    text = text.removeprefix("\ufeff")
    if name.endswith(".json"):
        _demand_json(text, name)
        text = _joined_surrogates(text)
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise PlanInvalid([_syntax_error(error, text, name)]) from None
    except RecursionError:
        raise PlanInvalid([f"{name}:1: nested too deeply"]) from None
    reading = _Reading(name)
    value = reading.value(node, (), 0) if node is not None else None
    if reading.errors:
        raise PlanInvalid(reading.errors)
    return Document(name, value, reading.lines)


@dataclass(slots=True)
class _Reading:
    """Turns nodes into values, and notes lines and errors."""

    name: str
    lines: dict[Path, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)
    _open: set[int] = field(default_factory=set)
    _repeated: int = 0

    def value(self, node: yaml.Node, path: Path, depth: int) -> JsonValue:
        self.lines.setdefault(path, _line(node))
        self._count(node, depth)
        if node.tag not in _KNOWN_TAGS:
            self._wrong(node, f"the tag {_shown_tag(node.tag)} is not known here")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._open.add(id(node))
        found = (
            self._members(node, path, depth)
            if isinstance(node, yaml.MappingNode)
            else [self.value(item, (*path, place), depth + 1) for place, item in enumerate(node.value)]
        )
        self._open.discard(id(node))
        return found

    def _members(self, node: yaml.MappingNode, path: Path, depth: int) -> JsonValue:
        found: dict[str, JsonValue] = {}
        for key, member in node.value:
            name = key.value
            if not isinstance(key, yaml.ScalarNode) or not isinstance(name, str):
                self._wrong(key, "a key is text, not a list or an object; quote a ${…} that stands here")
                continue
            if name == "<<" and not key.style:
                self._wrong(key, "merging with << is not supported; write the members out")
                continue
            if name in found:
                self._wrong(key, f"{name!r} is given twice; it was on line {self.lines[(*path, name)]} before")
                continue
            self.lines[(*path, name)] = _line(key)
            found[name] = self.value(member, (*path, name), depth + 1)
        return found

    def _scalar(self, node: yaml.ScalarNode) -> JsonValue:
        text, kind = node.value, node.tag.removeprefix(_TAG)
        try:
            value = _parsed(text, kind)
        except ValueError:
            self._wrong(node, f"{text[:40]!r} is no {kind} that JSON can hold; quote it if it is text")
            return None
        if isinstance(value, str) and "\0" in value:
            self._wrong(node, "a text holds no NUL")
        return value

    def _count(self, node: yaml.Node, depth: int) -> None:
        if id(node) in self._open:
            self._stop(node, "an alias (*) of what it is in has no end")
        if depth > MAX_DEPTH:
            self._stop(node, f"more than {MAX_DEPTH} levels within one another")
        self._repeated += id(node) in self._seen
        self._seen.add(id(node))
        if self._repeated > MAX_REPEATED:
            self._stop(node, f"aliases (*) repeat more than {MAX_REPEATED} values")

    def _wrong(self, node: yaml.Node, message: str) -> None:
        self.errors.append(f"{self.name}:{_line(node)}: {message}")

    def _stop(self, node: yaml.Node, message: str) -> None:
        self._wrong(node, message)
        raise PlanInvalid(self.errors)


def _parsed(text: str, kind: str) -> JsonValue:
    if kind == "null":
        return None
    if kind == "bool":
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse(text)
    if kind == "int":
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if kind == "float":
        value = float(text)
        return value if math.isfinite(value) else _refuse(text)
    return text


def _refuse(text: str) -> JsonValue:
    raise ValueError(text)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _shown_tag(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag


def _demand_json(text: str, name: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise PlanInvalid([f"{name}:{error.lineno}: not JSON: {error.msg}"]) from None
    except (ValueError, RecursionError) as error:
        raise PlanInvalid([f"{name}:1: not JSON: {str(error)[:80]}"]) from None


def _joined_surrogates(text: str) -> str:
    """JSON's two escapes of one character as the one that YAML has for it."""

    def joined(match: re.Match[str]) -> str:
        high, low = int(match[2], 16), int(match[3], 16)
        return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"

    pair = r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    previous = None
    while previous != text:
        # two pairs in a row share no characters, but the look-behind sees the first one's end only afterwards
        previous, text = text, re.sub(pair, joined, text)
    return text


def _syntax_error(error: yaml.YAMLError, text: str, name: str) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position] if isinstance(error.position, int) else ""
        return f"{name}:{before.count(chr(10)) + 1}: a character that can't be in YAML ({error.character!r})"
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark is not None else 1
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None)
    said = f"{problem} {context}" if context else problem
    return f"{name}:{line}: not YAML: {said}{_hint(text, line, problem)}"


def _hint(text: str, line: int, problem: str) -> str:
    lines = text.splitlines()
    there = lines[line - 1] if line <= len(lines) else ""
    if "${" in there and re.search(r"[\[{].*\$\{", there):
        return '; within [ ] and { } a reference stands in quotes: "${…}"'
    if "mapping values are not allowed" in problem:
        return "; a text with a colon stands in quotes"
    return "; indent with spaces" if "\t" in there else ""
