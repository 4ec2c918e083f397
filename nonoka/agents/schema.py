"""The JSON Schema of a tool's arguments, and the words for them from its docstring. Used by tool.py."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import cast

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import GenerateJsonSchema

from nonoka.records.base import JsonObject

#: members of a schema that map names to schemas: a name there may be "title"
_MAPS = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
#: members that hold data, not schemas
_DATA = frozenset({"default", "const", "enum", "examples", "required"})


class QuietSchema(GenerateJsonSchema):
    """Leaves out a default that JSON can't show, without a warning."""

    ignored_warning_kinds = frozenset({"skipped-choice", "non-serializable-default"})  # type: ignore[assignment]


def argument_schema(model: type[BaseModel]) -> JsonObject:
    """The schema of an object with these fields, without titles; nothing else may be in it."""
    schema = cast(JsonObject, _without_titles(model.model_json_schema(schema_generator=QuietSchema)))
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema, "additionalProperties": False}


def described(schema: JsonObject, function: Callable[..., object]) -> tuple[str, JsonObject]:
    """A tool's description, and the schema with its docstring's texts where a field has none of its own."""
    text = inspect.getdoc(function) or ""
    description, of_field = _read_docstring(text)
    properties = cast(dict[str, JsonObject], schema["properties"])
    filled: JsonObject = {
        name: (
            {**field, "description": of_field[name]} if name in of_field and "description" not in field else field
        )
        for name, field in properties.items()
    }
    return description, {**schema, "properties": filled}


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    # loaded here: only who asks a model needs it
    parser = importlib.import_module("docstring_parser")
    try:
        doc = parser.parse(text)
    except parser.ParseError:
        return text, {}
    parts = (doc.short_description, doc.long_description)
    return (
        "\n\n".join(part for part in parts if part),
        {param.arg_name: param.description for param in doc.params if param.description},
    )


def _without_titles(schema: JsonValue) -> JsonValue:
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: JsonObject = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            found[key] = {name: _without_titles(item) for name, item in value.items()}
        elif key in _DATA:
            found[key] = value
        elif key != "title":
            found[key] = _without_titles(value)
    return found
