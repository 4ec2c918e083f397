"""The script model: the same file, the same conversation, the same answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nonoka.adapters.models.script import ScriptModel
from nonoka.adapters.models.script_file import read_script
from nonoka.errors import ModelFailure, UsageError
from nonoka.records.model import ModelAnswer, ModelRequest
from tests.support.model_requests import Listener, asking, assistant, result, user

TWO = """
- text: I'll look.
  tool_calls:
    - {id: theirs, name: read, args: {path: a.txt}}
    - {name: raw, args: "{not json"}
  usage: {input_tokens: 10, output_tokens: 4}
- text: All done.
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.yaml"


def write(path: Path, content: str) -> None:
    path.write_text(content)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def ask(path: Path, request: ModelRequest) -> ModelAnswer:
    return await ScriptModel(path).respond(request, Listener())


async def failure(path: Path, request: ModelRequest) -> ModelFailure:
    with pytest.raises(ModelFailure) as raised:
        await ask(path, request)
    return raised.value


async def test_a_response_is_given_with_its_calls_and_usage(script: Path) -> None:
    write(script, TWO)
    answer = await ask(script, asking(user("hi")))
    assert answer.text == "I'll look."
    assert [(c.model_id, c.name, c.arguments) for c in answer.calls] == [
        ("theirs", "read", '{"path": "a.txt"}'),
        ("", "raw", "{not json"),
    ]
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.estimated) == (10, 4, False)


async def test_the_response_taken_is_the_one_at_the_number_of_assistant_entries(script: Path) -> None:
    """Users, tools and systems don't count, and asking twice changes nothing."""
    write(script, TWO)
    later = asking(user("a"), assistant("I'll look.", ("c1", "read", {})), result("c1", "read", "x"), user("b"))
    model = ScriptModel(script)
    assert (await model.respond(later, Listener())).text == "All done."
    assert (await model.respond(later, Listener())).text == "All done."
    assert (await model.respond(asking(user("a")), Listener())).text == "I'll look."


async def test_the_text_is_streamed_in_pieces_that_make_up_the_answer(script: Path) -> None:
    write(script, "- text: one two three four")
    listener = Listener()
    answer = await ScriptModel(script).respond(asking(user("hi")), listener)
    assert len(listener.heard) == 4
    assert listener.text == answer.text == "one two three four"


async def test_usage_that_is_not_scripted_is_estimated_and_says_so(script: Path) -> None:
    write(script, "responses:\n  - text: '12345678'")
    answer = await ask(script, asking(user("x" * 400), instructions="y" * 40))
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.estimated) == (110, 2, True)


async def test_past_its_end_a_script_fails_for_good_and_names_file_and_place(script: Path) -> None:
    write(script, TWO)
    failed = await failure(script, asking(assistant("a"), assistant("b"), user("more")))
    assert (failed.kind, failed.transient) == ("script_ended", False)
    assert str(script) in str(failed)
    assert "response 3 of 2" in str(failed)


@pytest.mark.parametrize(
    ("status", "kind", "transient"),
    [
        (401, "unauthorized", False),
        (403, "unauthorized", False),
        (404, "unknown_model", False),
        (400, "bad_request", False),
        (422, "bad_request", False),
        (408, "server_error", True),
        (409, "server_error", True),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (503, "server_error", True),
    ],
)
async def test_a_scripted_status_fails_as_that_status_does(
    script: Path, status: int, kind: str, transient: bool
) -> None:
    write(script, f"- error: {{status: {status}}}")
    failed = await failure(script, asking(user("hi"), retries=7))
    assert (failed.kind, failed.transient) == (kind, transient)


async def test_an_error_with_times_is_over_after_that_many_retries(script: Path) -> None:
    write(script, "- {text: At last., error: {status: 429, retry_after_s: 1.5, times: 2}}")
    for retries in (0, 1):
        failed = await failure(script, asking(user("hi"), retries=retries))
        assert failed.retry_after_ms == 1500
    assert (await ask(script, asking(user("hi"), retries=2))).text == "At last."


async def test_a_scripted_timeout_may_pass(script: Path) -> None:
    write(script, "- error: {kind: timeout}")
    failed = await failure(script, asking(user("hi")))
    assert (failed.kind, failed.transient) == ("timeout", True)


async def test_a_scripted_drop_breaks_off_in_the_middle_of_the_text(script: Path) -> None:
    write(script, '- {text: "0123456789", error: {kind: drop, times: 1}}')
    listener = Listener()
    with pytest.raises(ModelFailure) as raised:
        await ScriptModel(script).respond(asking(user("hi")), listener)
    assert (raised.value.kind, raised.value.transient) == ("cut_off", True)
    assert listener.text == "01234"
    assert (await ask(script, asking(user("hi"), retries=1))).text == "0123456789"


async def test_a_delay_longer_than_what_is_left_is_a_timeout(script: Path) -> None:
    write(script, "- {text: late, delay_s: 3600}")
    failed = await failure(script, asking(user("hi"), timeout_ms=10))
    assert (failed.kind, failed.transient) == ("timeout", True)


async def test_a_delay_ends_when_the_call_is_cancelled(script: Path) -> None:
    write(script, "- {text: late, delay_s: 3600}")
    listener = Listener()
    call = asyncio.create_task(ScriptModel(script).respond(asking(user("hi")), listener))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert listener.heard == []


async def test_a_response_that_says_nothing_is_an_empty_answer(script: Path) -> None:
    write(script, "- {}")
    failed = await failure(script, asking(user("hi")))
    assert (failed.kind, failed.transient) == ("empty_answer", True)


async def test_an_answer_holds_no_lone_surrogate_and_no_nul(script: Path) -> None:
    write(
        script,
        r"""
- text: "a\0b"
  tool_calls: [{name: f, args: {"k\0": "v"}}, {name: g, args: '{"k": "\ud83d\u0000", "n": NaN}'}]
""",
    )
    answer = await ask(script, asking(user("hi")))
    assert answer.text == "a\ufffdb"
    assert [call.arguments for call in answer.calls] == ['{"k\ufffd": "v"}', '{"k": "\ufffd\ufffd", "n": "nan"}']


async def test_a_script_that_is_gone_or_broken_by_now_is_a_permanent_failure(script: Path) -> None:
    write(script, TWO)
    model = ScriptModel(script)
    await model.respond(asking(user("hi")), Listener())
    write(script, "- txt: broken")
    for _ in ("broken", "gone"):
        with pytest.raises(ModelFailure) as raised:
            await model.respond(asking(user("hi")), Listener())
        assert (raised.value.kind, raised.value.transient) == ("not_set_up", False)
        remove(script)


async def test_a_changed_script_is_read_again(script: Path) -> None:
    write(script, "- text: first")
    model = ScriptModel(script)
    assert (await model.respond(asking(user("hi")), Listener())).text == "first"
    write(script, "- text: changed")
    assert (await model.respond(asking(user("hi")), Listener())).text == "changed"


def test_an_unchanged_script_is_parsed_once(script: Path) -> None:
    script.write_text(TWO)
    assert read_script(script) is read_script(script)


def test_everything_wrong_in_a_script_is_said_at_once_with_its_place(script: Path) -> None:
    script.write_text(
        """
- text: fine
- tool_calls: [{name: 7, args: {}}]
  surprise: 1
- error: {times: 1}
"""
    )
    with pytest.raises(UsageError) as raised:
        read_script(script)
    said = str(raised.value)
    assert str(script) in said
    assert "response 2: tool_calls.0.name: Input should be a valid string" in said
    assert "response 2: surprise: Extra inputs are not permitted" in said
    assert "response 3: error: Value error, give either status or kind" in said


@pytest.mark.parametrize("content", ["", "text: hello", "just words", "- [", "responses: 3", "\x00", "- 1"])
def test_what_is_no_list_of_responses_is_refused_by_name(script: Path, content: str) -> None:
    script.write_text(content)
    with pytest.raises(UsageError, match=r"script\.yaml"):
        read_script(script)
