"""Whatever a conversation holds, what goes on the wire is valid, complete and in order."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolReturnPart

from nonoka.adapters.models.clean_text import clean_arguments, clean_json, clean_text
from nonoka.adapters.models.messages import to_calls, to_messages
from nonoka.adapters.models.provider_notes import Origin
from nonoka.records.base import JsonObject
from tests.support.model_requests import Spoken, asking, assistant, result, user

HERE = Origin("openai", "here")
#: Every code point, lone surrogates and NUL included.
any_text = st.text(st.characters(codec=None), max_size=20)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
arguments: st.SearchStrategy[JsonObject | str] = any_text | st.dictionaries(any_text, values, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[Spoken]:
    """Turns as the engine keeps them: each call followed by its one result."""
    spoken: list[Spoken] = []
    for turn in range(draw(st.integers(0, 4))):
        spoken.append(user(draw(any_text)))
        asked = draw(st.lists(st.tuples(any_text, arguments), max_size=3))
        calls = [(f"call_{turn}_{place}", name, args) for place, (name, args) in enumerate(asked)]
        spoken.append(assistant(draw(any_text), *calls))
        spoken += [result(call_id, name, draw(any_text)) for call_id, name, _ in calls]
    return spoken


@given(conversations())
def test_every_call_is_followed_by_its_result_under_the_same_id(spoken: list[Spoken]) -> None:
    messages = to_messages(asking(*spoken), HERE)
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse) and message.tool_calls:
            wanted = [call.tool_call_id for call in message.tool_calls]
            found = [part.tool_call_id for part in messages[at + 1].parts if isinstance(part, ToolReturnPart)]
            assert found == wanted


@given(conversations())
def test_what_is_sent_is_utf8_and_strict_json_without_nul(spoken: list[Spoken]) -> None:
    messages = to_messages(asking(*spoken), HERE)
    ModelMessagesTypeAdapter.dump_json(messages).decode()
    for message in messages:
        if isinstance(message, ModelResponse):
            for call in message.tool_calls:
                assert isinstance(call.args, dict)
                sent = json.dumps(call.args, allow_nan=False)
                assert "\\u0000" not in sent.replace("\\\\", "")


@given(any_text, st.lists(st.dictionaries(any_text, values, max_size=3), max_size=3))
def test_an_answer_comes_back_from_the_wire_as_it_went(said: str, asked: list[JsonObject]) -> None:
    calls = [(f"call_0_{place}", "f", args) for place, args in enumerate(asked)]
    messages = to_messages(asking(user("q"), assistant(said, *calls)), HERE)
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    spoken = clean_text(said) if clean_text(said).strip() else ""  # strict servers refuse a text of blanks
    assert len(answers) == bool(spoken or asked)
    for answer in answers:
        assert "".join(p.content for p in answer.parts if isinstance(p, TextPart)) == spoken
        back = [(call.model_id, json.loads(call.arguments)) for call in to_calls(answer)]
        assert back == [(call_id, clean_json(args)) for call_id, _, args in calls]


@given(arguments)
def test_cleaned_arguments_parse_to_cleaned_values(args: JsonObject | str) -> None:
    raw = args if isinstance(args, str) else json.dumps(args)
    cleaned = clean_arguments(raw)
    cleaned.encode()
    assert "\x00" not in cleaned
    if isinstance(args, dict):
        assert json.loads(cleaned) == clean_json(args)
