"""Tools: what an agent can do. ``@tool`` makes one of a function; the engine runs it."""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, ParamSpec, TypeVar, get_args, overload

from nonoka.agents.context import ToolContext
from nonoka.agents.coroutines import ToolLoops
from nonoka.agents.invocation import Invocation
from nonoka.agents.schema import described
from nonoka.agents.signature import Arguments, read_arguments
from nonoka.errors import ToolFailure, UsageError
from nonoka.records.base import JsonObject
from nonoka.records.tool import Effect, OnUncertain, ToolSpec

P = ParamSpec("P")
R = TypeVar("R")

#: What every tool gets unless it says otherwise (design: 120 s).
TOOL_TIMEOUT_S = 120.0
#: How much later than the time in its own argument a tool is ended: it should get to say so itself.
TIMEOUT_GRACE_S = 10.0
#: what providers accept
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Tool:
    """A function that a model may ask for.

    ``timeout_argument`` names a parameter, in seconds, that raises ``timeout_s`` for its call. ``probe`` finds
    out whether an earlier attempt of a call took effect, within ``timeout_s`` of its own.
    """

    function: Callable[..., Any]
    name: str
    effect: Effect
    timeout_s: float
    on_uncertain: OnUncertain
    timeout_argument: str | None
    arguments: Arguments = field(repr=False)
    probe: Tool | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as it was written."""
        return self.function(*args, **kwargs)

    @functools.cached_property
    def spec(self) -> ToolSpec:
        """The tool as a model is told of it."""
        description, parameters = described(self.arguments.schema, self.function)
        return ToolSpec(name=self.name, description=description, parameters=parameters)

    def validated(self, args: JsonObject | str) -> dict[str, object]:
        """A value for each parameter but the context. Raises ToolFailure in words that a model can act on.

        A str is what a model sent that was not a JSON object.
        """
        if isinstance(args, str):
            raise ToolFailure(f"{self.name}: the arguments are not a JSON object; send one")
        return self.arguments.checked(args)

    def timeout_of(self, values: Mapping[str, object]) -> float:
        """How many seconds a call with these values may take."""
        asked = values.get(self.timeout_argument) if self.timeout_argument else None
        return (
            max(self.timeout_s, float(asked) + TIMEOUT_GRACE_S)
            if isinstance(asked, (int, float))
            else self.timeout_s
        )

    def invoke(
        self,
        context: ToolContext,
        values: Mapping[str, object],
        *,
        deps: Callable[[], object] | None = None,
        finish: Callable[[Any], object] | None = None,
        loops: ToolLoops | None = None,
    ) -> Invocation:
        """A run of the function with validated values; it begins when it is awaited.

        ``deps`` makes the context's deps, ``finish`` what is returned of the function's value: both run where the
        function does, so that theirs is its time. ``loops`` has the event loops for async functions.
        """

        def call() -> Any:
            args, kwargs = self.arguments.bound(replace(context, deps=deps()) if deps else context, values)
            return self.function(*args, **kwargs)

        run = call if finish is None else _finished(call, finish)
        return Invocation(run, is_async=_is_async(self.function), name=self.name, loops=loops)


@dataclass(frozen=True)
class TypedTool(Tool, Generic[P, R]):
    """A tool that type checkers know the function of."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as it was written."""
        result: R = self.function(*args, **kwargs)
        return result


@overload
def tool(function: Callable[P, R], /) -> TypedTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect | str = Effect.EXTERNAL,
    timeout_s: float = TOOL_TIMEOUT_S,
    on_uncertain: OnUncertain | None = None,
    probe: Callable[..., Any] | None = None,
    timeout_argument: str | None = None,
) -> Callable[[Callable[P, R]], TypedTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    effect: Effect | str = Effect.EXTERNAL,
    timeout_s: float = TOOL_TIMEOUT_S,
    on_uncertain: OnUncertain | None = None,
    probe: Callable[..., Any] | None = None,
    timeout_argument: str | None = None,
) -> Any:
    """A tool made of a function, async or not; it can still be called like the function.

    Its description, and those of its arguments, come from the docstring; its schema from the types. A
    parameter annotated ToolContext gets the call's context. ``effect`` says what it may change, and so how
    a call that was cut off is taken up (docs/tools.md): with ``on_uncertain``, one of replay (the default),
    probe (the default where ``probe`` is given: a function of some of the same arguments that returns a
    Happened, or None where the call took no effect), ask, tell, fail. Raises UsageError for what can't be a tool.
    """

    def decorate(target: Callable[..., Any]) -> Tool:
        return make_tool(
            target,
            sys._getframe(1).f_locals,
            name=name,
            effect=effect,
            timeout_s=timeout_s,
            on_uncertain=on_uncertain,
            probe=probe,
            timeout_argument=timeout_argument,
        )

    return decorate if function is None else make_tool(function, sys._getframe(1).f_locals)


def make_tool(
    function: Callable[..., Any],
    local_names: Mapping[str, object],
    *,
    name: str | None = None,
    effect: Effect | str = Effect.EXTERNAL,
    timeout_s: float = TOOL_TIMEOUT_S,
    on_uncertain: OnUncertain | None = None,
    probe: Callable[..., Any] | None = None,
    timeout_argument: str | None = None,
) -> Tool:
    """What ``tool`` does, for a function defined where these names are known."""
    called = _checked_name(function, name)
    arguments = read_arguments(function, called, local_names)
    on_uncertain = on_uncertain or ("replay" if probe is None else "probe")
    if on_uncertain not in get_args(OnUncertain):
        raise UsageError(
            f"tool {called!r}: on_uncertain is one of {_listed(get_args(OnUncertain))}, not {on_uncertain!r}"
        )
    if not (math.isfinite(timeout_s) and timeout_s > 0):
        raise UsageError(f"tool {called!r}: timeout_s is a number of seconds above 0, not {timeout_s!r}")
    if timeout_argument is not None and timeout_argument not in arguments.names:
        raise UsageError(f"tool {called!r} has no argument {timeout_argument!r} for timeout_argument")
    return TypedTool(
        function,
        called,
        _checked_effect(called, effect),
        float(timeout_s),
        on_uncertain,
        timeout_argument,
        arguments,
        _checked_probe(called, probe, on_uncertain, arguments, local_names, timeout_s),
    )


def _checked_probe(
    called: str,
    probe: Callable[..., Any] | None,
    on_uncertain: OnUncertain,
    arguments: Arguments,
    local_names: Mapping[str, object],
    timeout_s: float,
) -> Tool | None:
    if (probe is None) == (on_uncertain == "probe"):
        raise UsageError(
            f"tool {called!r}: on_uncertain='probe' and a probe belong together; give both, or neither"
        )
    if probe is None:
        return None
    name = f"{called[:58]}_probe"
    made = make_tool(probe, local_names, name=name, effect=Effect.READ_ONLY, timeout_s=timeout_s)
    unknown = [name for name in made.arguments.names if name not in arguments.names]
    if unknown:
        raise UsageError(f"tool {called!r}: its probe takes {unknown[0]!r}, which the tool does not")
    return made


def _checked_name(function: Callable[..., Any], name: str | None) -> str:
    if isinstance(function, Tool):
        raise UsageError(f"{function.name!r} is a tool already")
    if not callable(function):
        raise UsageError(f"a tool is made of a function, not of {function!r}; arguments of @tool go by name")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"tool {function.__name__!r} yields; a tool returns its result")
    called = name if name is not None else getattr(function, "__name__", "")
    if not isinstance(called, str) or not _NAME.fullmatch(called):
        raise UsageError(f"a tool's name is 1 to 64 of A-Z a-z 0-9 _ -, not {called!r}; give one: @tool(name=…)")
    return called


def _checked_effect(called: str, effect: Effect | str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        raise UsageError(f"tool {called!r}: effect is one of {_listed(Effect)}, not {effect!r}") from None


def _listed(choices: Any) -> str:
    return ", ".join(repr(str(choice)) for choice in choices)


def _finished(call: Callable[[], Any], finish: Callable[[Any], object]) -> Callable[[], object]:
    async def later(value: Awaitable[Any]) -> object:
        return finish(await value)

    def run() -> object:
        value = call()
        return later(value) if inspect.isawaitable(value) else finish(value)

    return run


def _is_async(function: Callable[..., Any]) -> bool:
    # an object with an async __call__ is one, too
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
