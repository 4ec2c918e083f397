"""A test of an agent whose process dies in the middle: right after the payment, before its result is stored.

pip install pytest pytest-asyncio
pytest examples/test_agent_with_a_crash.py
"""

from pathlib import Path

import pytest

from nonoka import Agent, RunResult, ToolContext, tool
from nonoka.testing import ScriptedModel, asks, crashing_runner, points_of, runner

pytestmark = pytest.mark.asyncio


def model() -> ScriptedModel:
    """It asks for a payment, then reports."""
    return ScriptedModel([asks("pay", invoice="A-17", cents=12_000), "Invoice A-17 is paid."])


class Bank:
    """Remembers under which key it was asked to pay, each time."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def clerk(self) -> Agent:
        """An agent that pays here."""

        @tool(effect="idempotent")
        def pay(ctx: ToolContext, invoice: str, cents: int) -> str:
            """Pay an invoice."""
            self.keys.append(ctx.idempotency_key)
            return f"paid {cents} for {invoice}"

        return Agent("clerk", "You pay invoices.", tools=[pay])


async def recovered(directory: Path, clerk: Agent) -> RunResult:
    """Another process takes up what the dead one left."""
    async with runner(directory, agents=[clerk]) as living:
        [session] = await living.list_sessions()
        return await living.resume(session.index.session_id)


async def test_a_payment_whose_result_was_lost_is_asked_for_again_under_its_key(tmp_path: Path) -> None:
    bank = Bank()
    async with crashing_runner(tmp_path, model(), at="before call_finished") as dying:
        await dying.run_react(bank.clerk(), "Pay invoice A-17")
    assert len(bank.keys) == 1

    result = await recovered(tmp_path, bank.clerk())

    assert (result.status, result.data) == ("completed", "Invoice A-17 is paid.")
    first, second = bank.keys
    assert first == second


async def test_wherever_it_dies_the_session_ends_as_it_should(tmp_path: Path) -> None:
    points = await points_of(Bank().clerk(), "Pay invoice A-17", model())
    for number, point in enumerate(points):
        bank, directory = Bank(), tmp_path / str(number)
        async with crashing_runner(directory, model(), at=point) as dying:
            await dying.run_react(bank.clerk(), "Pay invoice A-17")
        assert (await recovered(directory, bank.clerk())).data == "Invoice A-17 is paid.", point
        assert len(set(bank.keys)) == 1, point
