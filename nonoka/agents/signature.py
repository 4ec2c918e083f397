"""A function's signature as a tool's arguments: which there are, and how they are checked. Used by tool.py."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from nonoka.agents.context import ToolContext
from nonoka.agents.plain_value import clean_text, safe_str
from nonoka.agents.schema import argument_schema
from nonoka.errors import ToolFailure, UsageError
from nonoka.records.base import JsonObject


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments that a tool takes.

    ``model`` checks them; its fields are called p0, p1, … with the parameters' names as aliases, since a
    parameter may have a name that a model can't (``json``, ``_x``). ``context`` is the parameter, if any,
    that gets the ToolContext; ``positional`` are those that take no keyword.
    """

    tool: str
    model: type[BaseModel]
    schema: JsonObject
    names: tuple[str, ...]
    context: str | None
    positional: tuple[str, ...]

    def checked(self, args: JsonObject) -> dict[str, object]:
        """A value for each parameter, defaults included. Raises ToolFailure naming each wrong one and why.

        A null for an optional parameter that can't be null counts as left out: models send those.
        """
        try:
            found = self._read(args)
        except ValidationError as error:
            raise ToolFailure(self._complaint(error)) from error
        except Exception as error:
            # a validator in a tool's own types may raise anything
            raise ToolFailure(
                clean_text(f"{self.tool}: the arguments don't fit: {type(error).__name__}: {safe_str(error)}")
            ) from error
        return {name: getattr(found, f"p{place}") for place, name in enumerate(self.names)}

    def bound(self, context: ToolContext, values: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The values as a call's positional and keyword arguments."""
        by_name = {**values, **({self.context: context} if self.context else {})}
        return [by_name.pop(name) for name in self.positional], by_name

    def _read(self, args: JsonObject) -> BaseModel:
        try:
            return self.model.model_validate(args)
        except ValidationError as error:
            needed = self.schema.get("required")
            wrong = {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}
            nulls = {name for name in wrong if args.get(name, "") is None}
            nulls -= set(map(str, needed)) if isinstance(needed, list) else set()
            if not nulls:
                raise
            return self.model.model_validate({name: arg for name, arg in args.items() if name not in nulls})

    def _complaint(self, error: ValidationError) -> str:
        lines = [f"{self.tool}: the arguments don't fit:"]
        for fault in error.errors(include_url=False, include_context=False):
            place = ".".join(str(part) for part in fault["loc"])
            if fault["type"] == "missing":
                lines.append(f"- {place}: is missing")
            elif fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
                lines.append(f"- {place}: there is no such argument; there are: {', '.join(self.names) or 'none'}")
            else:
                lines.append(
                    f"- {place}: {fault['msg'].removeprefix('Value error, ')} (got {_short(fault['input'])})"
                )
        return clean_text("\n".join(lines))


def read_arguments(function: Callable[..., object], tool: str, local_names: Mapping[str, object]) -> Arguments:
    """What a function takes. Raises UsageError for what a model could not call.

    ``local_names`` are the names where it is defined, for annotations that are still text.
    """
    fields: dict[str, Any] = {}
    names: list[str] = []
    context: str | None = None
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(
                f"tool {tool!r}: {str(parameter)!r} can't be described to a model; name each argument"
            )
        hint = _hint(function, parameter, tool, local_names)
        if _is_context(hint):
            if context is not None:
                raise UsageError(
                    f"tool {tool!r}: {context!r} and {parameter.name!r} are both the context; keep one"
                )
            context = parameter.name
            continue
        fields[f"p{len(names)}"] = _field(hint, parameter)
        names.append(parameter.name)
    model, schema = _model(tool, fields)
    return Arguments(
        tool=tool,
        model=model,
        schema=schema,
        names=tuple(names),
        context=context,
        positional=tuple(p.name for p in parameters if p.kind is p.POSITIONAL_ONLY),
    )


def _hint(
    function: Callable[..., object], parameter: inspect.Parameter, tool: str, local_names: Mapping[str, object]
) -> Any:
    if parameter.annotation is parameter.empty:
        if parameter.name == "self":
            raise UsageError(f"tool {tool!r} is a method; make a tool of it when it is bound: tool(thing.{tool})")
        return Any

    def holder() -> None: ...

    holder.__annotations__ = {parameter.name: parameter.annotation}
    try:
        hints = typing.get_type_hints(holder, _globals_of(function), dict(local_names), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        # a name that is imported for type checkers only
        if str(parameter.annotation).split("[")[0].split(".")[-1].strip("'\" ") == ToolContext.__name__:
            return ToolContext
        raise UsageError(
            f"tool {tool!r}: {parameter.name!r}: {parameter.annotation!r} is not a type here: {error}"
        ) from error
    return hints[parameter.name]


def _globals_of(function: Callable[..., object]) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not hasattr(function, "__globals__"):
        function = type(function).__call__
    found: dict[str, Any] = getattr(function, "__globals__", {})
    return found


def _is_context(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_context(get_args(hint)[0])
    if origin in (Union, UnionType):
        return any(_is_context(part) for part in get_args(hint))
    return isinstance(hint, type) and issubclass(hint, ToolContext)


def _field(hint: Any, parameter: inspect.Parameter) -> tuple[Any, FieldInfo]:
    default = parameter.default
    if isinstance(default, FieldInfo):
        hint, default = Annotated[hint, default], parameter.empty
    options: dict[str, Any] = {"alias": parameter.name}
    if default is not parameter.empty:
        options["default"] = default
    words = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)), None)
    if words is not None:
        options["description"] = words
    field: FieldInfo = Field(**options)
    return hint, field


def _model(tool: str, fields: dict[str, Any]) -> tuple[type[BaseModel], JsonObject]:
    try:
        model: type[BaseModel] = create_model(
            tool, __config__=ConfigDict(extra="forbid", regex_engine="python-re"), **fields
        )
        schema = argument_schema(model)
    except Exception as error:
        raise UsageError(f"tool {tool!r}: its arguments can't be described to a model: {error}") from error
    return model, schema


def _short(value: object) -> str:
    text = safe_str(repr(value))
    return text if len(text) <= 80 else text[:77] + "…"
