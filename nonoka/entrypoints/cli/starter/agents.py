"""An agent with a tool of its own. Workers load it by its name: agents.py:clerk.

nonoka run --agent agents.py:clerk "Book 25.50 euros for train tickets"
"""

from __future__ import annotations

import json
from pathlib import Path

from nonoka import Agent, ToolContext, tool

LEDGER = Path(__file__).with_name("ledger.jsonl")


# A process may die in the middle of a call; the call is then run again, with the same idempotency key. The effect
# "idempotent" promises that a second run changes nothing more: hand the key on to the service that you call or,
# as here, look for it first. docs/tools.md has the other effects.
@tool(effect="idempotent", timeout_s=30)
def book(ctx: ToolContext, purpose: str, cents: int) -> str:
    """Book an expense in the ledger.

    Args:
        purpose: What it was for.
        cents: The amount in euro cents.
    """
    booked = [json.loads(line) for line in LEDGER.read_text().splitlines()] if LEDGER.exists() else []
    if not any(entry["key"] == ctx.idempotency_key for entry in booked):
        with LEDGER.open("a") as ledger:
            ledger.write(json.dumps({"key": ctx.idempotency_key, "purpose": purpose, "cents": cents}) + "\n")
    return f"booked {cents / 100:.2f} euros for {purpose}"


clerk = Agent(
    "clerk",
    "You keep the ledger. Book each expense that you are told of, once, and say what you booked.",
    tools=[book],
)
