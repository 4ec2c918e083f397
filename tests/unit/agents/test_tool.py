"""A function with types and a docstring is a tool."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from nonoka.agents.agent import Agent
from nonoka.agents.context import ToolContext
from nonoka.agents.tool import Tool, tool
from nonoka.errors import ToolFailure, UsageError
from nonoka.records.tool import Effect

if TYPE_CHECKING:
    import nonoka.agents.context as for_checkers

CONTEXT = ToolContext(session_id="s", tool_call_id="call_1_0", idempotency_key="s:1:0", attempt=1)


@tool
def weather(city: str, days: int = 3, unit: Literal["c", "f"] = "c") -> str:
    """Say what the weather will be.

    It may be wrong.

    Args:
        city: Where.
        days: How many days
            ahead.
    """
    return f"{city} {days} {unit}"


@tool(name="pay", effect="idempotent", timeout_s=5, on_uncertain="tell")
async def pay_bill(amount: float, context: ToolContext) -> str:
    return f"{amount} {context.idempotency_key}"


def test_a_bare_tool_has_the_safe_defaults() -> None:
    assert (weather.name, weather.effect, weather.timeout_s, weather.on_uncertain) == (
        "weather",
        Effect.EXTERNAL,
        120.0,
        "replay",
    )


def test_what_is_said_at_decoration_is_kept() -> None:
    assert (pay_bill.name, pay_bill.effect, pay_bill.timeout_s, pay_bill.on_uncertain) == (
        "pay",
        Effect.IDEMPOTENT,
        5.0,
        "tell",
    )


def test_a_tool_is_frozen_and_still_callable_as_the_function() -> None:
    assert weather("Kobe", unit="f") == "Kobe 3 f"
    assert asyncio.run(pay_bill(2.0, CONTEXT)) == "2.0 s:1:0"
    with pytest.raises(AttributeError):
        weather.name = "other"  # type: ignore[misc]


def test_the_schema_comes_from_types_and_docstring() -> None:
    assert weather.spec.model_dump() == {
        "name": "weather",
        "description": "Say what the weather will be.\n\nIt may be wrong.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "days": {"type": "integer", "default": 3, "description": "How many days\nahead."},
                "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }


def test_the_context_is_no_argument() -> None:
    assert pay_bill.spec.parameters["properties"] == {"amount": {"type": "number"}}
    assert pay_bill.spec.description == ""


def test_a_tool_without_arguments_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        return "now"

    assert now.spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert now.validated({}) == {}


class Line(BaseModel):
    title: str
    count: int = 1


def test_titles_are_left_out_but_a_field_named_title_stays() -> None:
    @tool
    def order(lines: list[Line], title: str = "title") -> None: ...

    parameters = order.spec.parameters
    assert parameters["properties"] == {
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "title": {"type": "string", "default": "title"},
    }
    assert parameters["$defs"] == {
        "Line": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            "required": ["title"],
        }
    }
    assert order.validated({"lines": [{"title": "x"}]}) == {"lines": [Line(title="x")], "title": "title"}


def test_a_fields_own_description_goes_before_the_docstrings() -> None:
    @tool
    def find(
        a: Annotated[int, Field(description="own", ge=1)],
        b: Annotated[str, "said short"] = "x",
        c: int = Field(default=4, le=9),
    ) -> None:
        """Find.

        Args:
            a: not this
            b: nor this
            c: this
        """

    assert find.spec.parameters["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "own"},
        "b": {"type": "string", "default": "x", "description": "said short"},
        "c": {"type": "integer", "default": 4, "maximum": 9, "description": "this"},
    }
    assert find.validated({"a": 1}) == {"a": 1, "b": "x", "c": 4}


def test_names_that_a_model_class_could_not_have_are_fine() -> None:
    @tool
    def odd(json: str, schema: int, _x: int, model_config: str, p0: str = "d", copy: Any = None) -> None: ...

    args: dict[str, Any] = {"json": "j", "schema": 1, "_x": 2, "model_config": "m"}
    assert odd.validated(args) == {**args, "p0": "d", "copy": None}


def test_unannotated_parameters_take_anything() -> None:
    @tool
    def loose(thing, other=None): ...  # type: ignore[no-untyped-def]

    assert loose.spec.parameters["properties"] == {"thing": {}, "other": {"default": None}}
    assert loose.validated({"thing": [1, {"a": None}]}) == {"thing": [1, {"a": None}], "other": None}


def test_a_default_that_json_can_not_show_is_kept_and_not_described() -> None:
    mark = object()

    @tool
    def use(thing: Any = mark) -> None: ...

    assert use.spec.parameters["properties"] == {"thing": {}}
    assert use.validated({})["thing"] is mark


async def test_the_context_may_stand_anywhere_and_be_wrapped() -> None:
    @tool
    def first(context: ToolContext, a: int) -> Any:
        return context, a

    @tool
    def middle(a: int, ctx: Annotated[ToolContext, "x"], b: int = 2) -> Any:
        return ctx, a, b

    @tool
    async def last(a: int, *, where: ToolContext | None = None) -> Any:
        return where, a

    @tool
    def positional(ctx: ToolContext, a: int, /, b: int) -> Any:
        return ctx, a, b

    @tool
    def checkers(a: int, c: for_checkers.ToolContext) -> Any:
        return c, a

    assert await first.invoke(CONTEXT, first.validated({"a": 1})) == (CONTEXT, 1)
    assert await middle.invoke(CONTEXT, middle.validated({"a": 1})) == (CONTEXT, 1, 2)
    assert await last.invoke(CONTEXT, last.validated({"a": 1})) == (CONTEXT, 1)
    assert await positional.invoke(CONTEXT, positional.validated({"a": 1, "b": 2})) == (CONTEXT, 1, 2)
    assert await checkers.invoke(CONTEXT, checkers.validated({"a": 1})) == (CONTEXT, 1)


def test_types_defined_in_the_same_function_are_found() -> None:
    class Local(BaseModel):
        n: int

    @tool
    def bare(local: Local) -> None: ...

    @tool(effect="read_only")
    def called(local: Local) -> None: ...

    assert bare.validated({"local": {"n": 1}}) == {"local": Local(n=1)}
    assert called.validated({"local": {"n": 1}}) == {"local": Local(n=1)}


def test_wrong_arguments_are_named_with_the_reason() -> None:
    with pytest.raises(ToolFailure) as caught:
        weather.validated({"days": "soon", "town": "Kobe", "unit": "k"})
    assert str(caught.value).splitlines() == [
        "weather: the arguments don't fit:",
        "- city: is missing",
        "- days: Input should be a valid integer, unable to parse string as an integer (got 'soon')",
        "- unit: Input should be 'c' or 'f' (got 'k')",
        "- town: there is no such argument; there are: city, days, unit",
    ]


def test_what_is_not_an_object_is_said_so() -> None:
    with pytest.raises(ToolFailure, match="the arguments are not a JSON object"):
        weather.validated('{"city": "Ko')


def test_numbers_in_strings_are_taken() -> None:
    assert weather.validated({"city": "K", "days": "2"})["days"] == 2


def test_a_null_for_an_optional_argument_counts_as_left_out() -> None:
    assert weather.validated({"city": "K", "days": None, "unit": None}) == {"city": "K", "days": 3, "unit": "c"}
    with pytest.raises(ToolFailure, match="city"):
        weather.validated({"city": None})


def test_a_validator_that_raises_anything_is_the_models_to_hear() -> None:
    class Picky(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def check(cls, n: int) -> int:
            if n == 1:
                raise ValueError("one is too few")
            raise KeyError("surprise")

    @tool
    def pick(picky: Picky) -> None: ...

    with pytest.raises(ToolFailure, match="one is too few"):
        pick.validated({"picky": {"n": 1}})
    with pytest.raises(ToolFailure, match="KeyError: 'surprise'"):
        pick.validated({"picky": {"n": 2}})


def test_a_complaint_can_be_stored_whatever_was_sent() -> None:
    with pytest.raises(ToolFailure) as caught:
        weather.validated({"city": "\ud83d", "\ud83d\0": 1})
    assert "\0" not in str(caught.value).encode().decode()


def test_a_callable_object_and_a_bound_method_and_a_partial_are_tools() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0

        def add(self, n: int) -> int:
            self.total += n
            return self.total

        async def __call__(self, n: int) -> int:
            return n

    counter = Counter()
    assert tool(counter.add).validated({"n": 2}) == {"n": 2}
    assert tool(name="count")(counter).spec.name == "count"
    part = tool(name="three")(functools.partial(counter.add, n=3))
    assert part.validated({}) == {"n": 3}


def _rest(*args: int) -> None: ...
def _options(**options: int) -> None: ...
def _generator():  # type: ignore[no-untyped-def]
    yield 1


class _Opaque: ...


def _opaque(thing: _Opaque) -> None: ...
def _unknown(thing: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _method(self, a: int) -> None: ...  # type: ignore[no-untyped-def]
def _twice(a: ToolContext, b: ToolContext) -> None: ...
def _callback(f: Callable[[int], int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_rest, "name each argument"),
        (_options, "name each argument"),
        (_generator, "a tool returns its result"),
        (_opaque, "can't be described to a model"),
        (_callback, "can't be described to a model"),
        (_unknown, "'NoSuchType' is not a type here"),
        (_method, "when it is bound"),
        (_twice, "both the context"),
        (lambda a: a, "give one: @tool"),
        (weather, "a tool already"),
        ("read", "arguments of @tool go by name"),
    ],
)
def test_what_can_not_be_a_tool_is_refused_where_it_is_made(function: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        tool(function)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"effect": "readonly"}, "effect is one of 'read_only', 'workspace', 'idempotent', 'external'"),
        ({"on_uncertain": "guess"}, "on_uncertain is one of"),
        ({"on_uncertain": "probe"}, "belong together"),
        ({"on_uncertain": "tell", "probe": len}, "belong together"),
        ({"timeout_s": 0}, "above 0"),
        ({"timeout_s": float("nan")}, "above 0"),
        ({"name": "with space"}, "a tool's name is"),
        ({"name": "x" * 65}, "a tool's name is"),
        ({"timeout_argument": "seconds"}, "no argument 'seconds'"),
    ],
)
def test_wrong_options_are_refused_where_they_are_given(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        tool(**{"name": "t", **options})(lambda: None)


def test_an_argument_can_raise_the_time_of_its_call() -> None:
    @tool(timeout_argument="seconds")
    def wait(seconds: float = 1) -> None: ...

    assert wait.timeout_of(wait.validated({})) == 120
    assert wait.timeout_of(wait.validated({"seconds": 600})) == 610


def test_an_agent_makes_tools_of_functions_and_finds_them() -> None:
    def plain(a: int) -> int:
        """Do."""
        return a

    agent = Agent("a", "Be good.", tools=[weather, plain])
    assert isinstance(agent.tool("plain"), Tool)
    assert agent.tool("weather") is weather
    assert agent.tool("none") is None
    assert [spec.name for spec in agent.specs] == ["weather", "plain"]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools named 'weather'"):
        Agent("a", tools=[weather, weather])


@pytest.mark.parametrize(
    "wrong", [{"name": " "}, {"name": "a\nb"}, {"name": "a", "deps": 3}, {"name": "a", "max_tool_result_bytes": 1}]
)
def test_an_agent_that_can_not_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Agent(**wrong)
