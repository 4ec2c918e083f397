"""Our conversation on the wire: valid for strict servers whatever a model or a tool said."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from nonoka.adapters.models import provider_notes
from nonoka.adapters.models.messages import to_calls, to_messages, to_parameters
from nonoka.adapters.models.provider_notes import Origin
from nonoka.records.memory import MemoryRole
from nonoka.records.tool import ToolSpec
from tests.support.model_requests import asking, assistant, result, user

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HERE = Origin("openai", "here")


def test_a_conversation_keeps_its_order_and_our_call_ids() -> None:
    conversation = asking(
        (MemoryRole.SYSTEM, "notice", {}),
        user("add"),
        assistant("ok", ("call_1_0", "add", {"a": 1}), ("call_1_1", "add", {"a": 2})),
        result("call_1_0", "add", "1"),
        result("call_1_1", "add", "2"),
        user("thanks"),
        assistant("bye"),
    )
    first, asked, answered, last = to_messages(conversation, HERE)
    assert isinstance(first, ModelRequest)
    assert isinstance(asked, ModelResponse)
    assert isinstance(answered, ModelRequest)
    assert isinstance(last, ModelResponse)
    assert [(type(part), part.content) for part in first.parts if hasattr(part, "content")] == [
        (SystemPromptPart, "notice"),
        (UserPromptPart, "add"),
    ]
    assert [(call.tool_call_id, call.args) for call in asked.tool_calls] == [
        ("call_1_0", {"a": 1}),
        ("call_1_1", {"a": 2}),
    ]
    results = [part for part in answered.parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_call_id, part.tool_name, part.content) for part in results] == [
        ("call_1_0", "add", "1"),
        ("call_1_1", "add", "2"),
    ]
    assert isinstance(answered.parts[-1], UserPromptPart)
    assert last.text == "bye"


def test_an_assistant_entry_that_says_nothing_is_left_out() -> None:
    messages = to_messages(asking(user("a"), assistant(""), user("b")), HERE)
    assert [type(message) for message in messages] == [ModelRequest]
    assert [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)] == ["a", "b"]


def test_a_text_of_blanks_is_left_out_and_its_calls_stay() -> None:
    """Some servers refuse a text of blanks, and would on every later request too."""
    blank, calling = (
        to_messages(asking(user("a"), assistant(" \n")), HERE),
        asking(assistant(" \n", ("c", "f", {}))),
    )
    assert [type(message) for message in blank] == [ModelRequest]
    (message,) = to_messages(calling, HERE)
    assert [type(part) for part in message.parts] == [ToolCallPart]


def test_results_and_prompts_of_blanks_are_named_where_they_are_refused() -> None:
    conversation = asking(user(" "), assistant("", ("c", "f", {})), result("c", "f", ""))
    for system, sent in (("anthropic", "(empty)"), ("bedrock", "(empty)"), ("openai", "")):
        asked, _, answered = to_messages(conversation, Origin(system, "here"))
        assert isinstance(asked.parts[0], UserPromptPart)
        assert isinstance(answered.parts[0], ToolReturnPart)
        assert asked.parts[0].content == (sent or " ")
        assert answered.parts[0].content == sent


def test_mistral_is_sent_the_only_ids_it_takes_and_they_still_pair() -> None:
    conversation = asking(
        assistant("", ("call_12_0", "f", {}), ("call_12_1", "f", {})),
        result("call_12_0", "f", "1"),
        result("call_12_1", "f", "2"),
    )
    asked, answered = to_messages(conversation, Origin("mistral", "here"))
    assert isinstance(asked, ModelResponse)
    ids = [call.tool_call_id for call in asked.tool_calls]
    assert ids == [part.tool_call_id for part in answered.parts if isinstance(part, ToolReturnPart)]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id_) for id_ in ids)


def test_arguments_that_are_no_json_object_travel_inside_one() -> None:
    (message,) = to_messages(asking(assistant("", ("c", "f", "{bad"), ("d", "f", "[1]"))), HERE)
    assert isinstance(message, ModelResponse)
    assert [call.args for call in message.tool_calls] == [{"INVALID_JSON": "{bad"}, {"INVALID_JSON": "[1]"}]


def test_names_that_a_strict_server_refuses_are_mended() -> None:
    conversation = asking(assistant("", ("c", "rm -rf", {}), ("d", "", {})), result("c", "rm -rf", "no"))
    asked, answered = to_messages(conversation, HERE)
    assert isinstance(asked, ModelResponse)
    assert [call.tool_name for call in asked.tool_calls] == ["rm_-rf", "unnamed"]
    assert isinstance(answered.parts[0], ToolReturnPart)
    assert answered.parts[0].tool_name == "rm_-rf"


def test_lone_surrogates_nul_and_nan_never_reach_the_wire() -> None:
    unfit = "a\x00\ud83db"
    conversation = asking(
        user(unfit),
        assistant(unfit, ("c", "f", {unfit: [unfit, float("nan")]})),
        result("c", "f", unfit),
        instructions=unfit,
    )
    asked, said, answered = to_messages(conversation, HERE)
    fit = "a\ufffd\ufffdb"
    assert isinstance(said, ModelResponse)
    assert isinstance(asked.parts[0], UserPromptPart)
    assert asked.parts[0].content == fit
    assert said.text == fit
    assert said.tool_calls[0].args == {fit: [fit, "nan"]}
    assert isinstance(answered.parts[0], ToolReturnPart)
    assert answered.parts[0].content == fit
    parts = to_parameters(conversation).instruction_parts
    assert [part.content for part in parts or ()] == [fit]


def test_a_pair_of_surrogates_becomes_the_character_it_meant() -> None:
    (message,) = to_messages(asking(user("\ud83d\ude00")), HERE)
    assert isinstance(message.parts[0], UserPromptPart)
    assert message.parts[0].content == "\U0001f600"


def test_tools_are_told_with_their_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tool = ToolSpec(name="add", description="Adds.", parameters=schema)
    (told,) = to_parameters(asking(user("a")).model_copy(update={"tools": (tool,)})).function_tools
    assert (told.name, told.description, told.parameters_json_schema) == ("add", "Adds.", schema)


def test_calls_keep_the_models_ids_and_its_raw_arguments() -> None:
    response = ModelResponse(
        parts=[
            TextPart("t"),
            ToolCallPart("f", '{"a": 1}', tool_call_id="dup"),
            ToolCallPart("g", "{bad", tool_call_id="dup"),
            ToolCallPart("h", {"b": "ü"}, tool_call_id="x"),
        ]
    )
    assert [(c.model_id, c.name, c.arguments) for c in to_calls(response)] == [
        ("dup", "f", '{"a": 1}'),
        ("dup", "g", "{bad"),
        ("x", "h", '{"b": "ü"}'),
    ]


def test_what_only_a_provider_needs_goes_back_to_that_server_alone() -> None:
    signature = {"extra_content": {"google": {"thought_signature": "s"}}}
    response = ModelResponse(
        parts=[
            ThinkingPart("hm", id="reasoning_content", provider_name="openai"),
            ThinkingPart("from tags", id="content", provider_name="openai"),
            ToolCallPart("f", "{}", tool_call_id="a"),
            ToolCallPart("g", "{}", tool_call_id="b", provider_name="openai", provider_details=signature),
        ]
    )
    kept = provider_notes.take(response, HERE)
    conversation = asking(assistant("", ("c1", "f", {}), ("c2", "g", {}), provider=kept))
    (back,) = to_messages(conversation, HERE)
    assert [(p.id, p.content) for p in back.parts if isinstance(p, ThinkingPart)] == [("reasoning_content", "hm")]
    assert [p.provider_details for p in back.parts if isinstance(p, ToolCallPart)] == [None, signature]
    (elsewhere,) = to_messages(conversation, Origin("openai", "elsewhere"))
    assert [p.provider_details for p in elsewhere.parts if isinstance(p, ToolCallPart)] == [None, None]
    assert not [p for p in elsewhere.parts if isinstance(p, ThinkingPart)]


def test_signed_thinking_goes_back_where_it_was_thought() -> None:
    """A server checks the signatures against the calls that each thought led to."""
    here = Origin("anthropic", "anthropic")
    response = ModelResponse(
        parts=[
            ThinkingPart("first", signature="s1", provider_name="anthropic"),
            TextPart("ok", provider_name="anthropic", provider_details={"phase": "commentary"}),
            ToolCallPart("f", "{}", tool_call_id="a"),
            ThinkingPart("", id="r", signature="s2", provider_name="anthropic", provider_details={"at": NOW}),
            ToolCallPart("g", "{}", tool_call_id="b"),
        ]
    )
    kept = provider_notes.take(response, here)
    assert json.loads(json.dumps(kept)) == kept
    conversation = asking(assistant("ok", ("c1", "f", {}), ("c2", "g", {}), provider=kept))
    (back,) = to_messages(conversation, here)
    first, said, one, second, two = back.parts
    assert isinstance(first, ThinkingPart)
    assert isinstance(second, ThinkingPart)
    assert (first.content, first.signature, first.provider_name) == ("first", "s1", "anthropic")
    assert (second.id, second.signature, second.provider_details) == ("r", "s2", {"at": str(NOW)})
    assert isinstance(said, TextPart)
    assert said.provider_details == {"phase": "commentary"}
    assert [part.tool_call_id for part in (one, two) if isinstance(part, ToolCallPart)] == ["c1", "c2"]


def test_notes_that_nobody_can_read_any_more_are_left_out() -> None:
    conversation = asking(assistant("", ("c", "f", {}), provider={"origin": "openai here", "thinking": 7}))
    (back,) = to_messages(conversation, HERE)
    assert [type(part) for part in back.parts] == [ToolCallPart]


def test_an_answer_without_calls_leaves_nothing_to_keep() -> None:
    response = ModelResponse(parts=[ThinkingPart("hm", id="reasoning"), TextPart("t")])
    assert provider_notes.take(response, HERE) == {}
