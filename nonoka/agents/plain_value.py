"""Any Python value as JSON values, by fixed rules. Used by result_text.py; nothing here raises."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date, datetime, time
from enum import Enum

from pydantic import BaseModel, JsonValue

#: deeper nesting is cut off: json and most readers of it recurse
MAX_DEPTH = 60
#: Python refuses to write longer ones in decimal (sys.int_info.default_max_str_digits is 4,300)
MAX_INT_BITS = 14_000


def clean_text(text: str) -> str:
    """The text without NUL and lone surrogates, each replaced by U+FFFD; split pairs are joined."""
    return without_surrogates(text).replace("\0", "\ufffd")


def without_surrogates(text: str) -> str:
    """The text as it can be encoded: each lone surrogate is U+FFFD, split pairs are joined."""
    text = str.__str__(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def safe_str(value: object) -> str:
    """``str(value)``, cleaned; a value that can't be shown is named by its type."""
    try:
        return clean_text(str(value))
    except BaseException as error:  # noqa: BLE001 — a value's own __str__ may raise anything, SystemExit too
        return f"<{type(value).__name__}: str() raised {type(error).__name__}>"


def plain_value(value: object) -> JsonValue:
    """The value as JSON values. Rules: docs/tools.md, "What a tool may return"."""
    return _plain(value, ())


def _plain(value: object, above: tuple[int, ...]) -> JsonValue:
    try:
        return _scalar(value) if _is_scalar(value) else _container(value, above)
    except BaseException:  # noqa: BLE001 — a value's own methods may raise anything, SystemExit too; it is still to be shown
        return safe_str(value)


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(
        value, (str, bool, int, float, Enum, bytes, bytearray, memoryview, date, time)
    )


def _scalar(value: object) -> JsonValue:
    match value:
        case Enum():
            return _plain(value.value, ())
        case str():
            return clean_text(value)
        case None | bool():
            return value
        case int():
            return int(value) if value.bit_length() <= MAX_INT_BITS else f"<int of {value.bit_length()} bits>"
        case float():
            return (
                float(value)
                if math.isfinite(value)
                else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(float(value)), "NaN")
            )
        case datetime() | date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return _bytes_text(bytes(value))
    return safe_str(value)


def _bytes_text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(data).decode()
    return text if "\0" not in text else "base64:" + base64.b64encode(data).decode()


def _container(value: object, above: tuple[int, ...]) -> JsonValue:
    if id(value) in above:
        return f"<{type(value).__name__} inside itself>"
    if len(above) >= MAX_DEPTH:
        return f"<{type(value).__name__} too deep to show>"
    inside = (*above, id(value))
    match value:
        case BaseModel():
            fields = {
                **{name: getattr(value, name) for name in type(value).model_fields},
                **(value.model_extra or {}),
            }
            return _object(fields.items(), inside)
        case Mapping():
            return _object(value.items(), inside)
        case Set():
            return sorted((_plain(item, inside) for item in value), key=_sort_key)
        case list() | tuple() | deque() | range():
            return [_plain(item, inside) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _object(((f.name, _field(value, f.name)) for f in dataclasses.fields(value)), inside)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {safe_str(value)}"
    return safe_str(value)


def _object(items: Iterable[tuple[object, object]], inside: tuple[int, ...]) -> JsonValue:
    found: dict[str, JsonValue] = {}
    for key, item in items:
        name = _free_name(_key_text(key), found.__contains__)
        found[name] = _plain(item, inside)
    return found


def _key_text(key: object) -> str:
    plain = _plain(key, ())
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _free_name(name: str, taken: Callable[[str], bool]) -> str:
    """1 and "1" are two keys in Python and one in JSON: nothing may be lost for that."""
    number, free = 1, name
    while taken(free):
        number += 1
        free = f"{name} ({number})"
    return free


def _field(value: object, name: str) -> object:
    try:
        return getattr(value, name)
    except BaseException as error:  # noqa: BLE001 — one bad field must not hide the others
        return f"<raised {type(error).__name__}>"


def _sort_key(plain: JsonValue) -> str:
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)
