"""An agent of one's own: a clerk who pays invoices, each of them once, whatever dies in the middle.

python examples/own_agent.py "Pay invoice A-17"                # a scripted model: no key needed
NONOKA_MODEL=openai:gpt-4o-mini python examples/own_agent.py "Pay A-17 and A-18"

nonoka worker &                                                # or let workers do it
nonoka enqueue --agent examples/own_agent.py:clerk "Pay invoice A-17"
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from nonoka import Agent, Runner, ToolContext, ToolFailure, tool

INVOICES = {"A-17": 120_00, "A-18": 80_00}


class Bank:
    """Stands for a service that takes an idempotency key: a payment under a known key is the same payment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pay(self, invoice: str, cents: int, *, idempotency_key: str) -> int:
        """The number of this payment; paid once for each key, however often it is asked for."""
        with closing(sqlite3.connect(self._path)) as db, db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS payments"
                " (number INTEGER PRIMARY KEY, key TEXT UNIQUE, invoice TEXT, cents INTEGER)"
            )
            db.execute(
                "INSERT OR IGNORE INTO payments (key, invoice, cents) VALUES (?, ?, ?)",
                (idempotency_key, invoice, cents),
            )
            row = db.execute("SELECT number FROM payments WHERE key = ?", (idempotency_key,)).fetchone()
        return int(row[0])


@tool(effect="read_only")
def due(invoice: str) -> dict[str, str | int]:
    """Say how much is due on an invoice.

    Args:
        invoice: Its number, such as A-17.
    """
    if invoice not in INVOICES:
        raise ToolFailure(f"there is no invoice {invoice!r}; there are {', '.join(INVOICES)}")
    return {"invoice": invoice, "cents": INVOICES[invoice]}


@tool(effect="idempotent")
def pay(ctx: ToolContext, invoice: str, cents: int) -> str:
    """Pay an invoice.

    Args:
        invoice: Its number, such as A-17.
        cents: The whole amount that is due.
    """
    bank: Bank = ctx.deps
    # The key is this call's in each of its attempts: where the process dies after the payment and before its
    # result is stored, the call runs again, and the bank recognises it.
    number = bank.pay(invoice, cents, idempotency_key=ctx.idempotency_key)
    return f"payment {number} made"


clerk = Agent(
    "clerk",
    "You pay the invoices that you are asked to pay. Look up what is due, pay exactly that, and report.",
    tools=[due, pay],
    deps=lambda: Bank(Path("payments.db")),
    model=f"script:{Path(__file__).with_name('own_agent.yaml')}",
)


async def main(prompt: str) -> None:
    """Work on the prompt here, and say how it went."""
    async with Runner() as runner:
        result = await runner.run_react(clerk, prompt)
    print(f"{result.status.value}: {result.data or (result.error and result.error.message)}")
    print(f"session {result.session_id}, {result.usage.tool_calls} calls")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Pay invoice A-17"))
