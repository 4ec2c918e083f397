"""For tests of your own agents: a scripted model, a clock moved by hand, processes that die where you say.

Nothing in the product imports this. docs/python.md shows it at work.
"""

from nonoka.adapters.memory.store import MemoryStore
from nonoka.testing.boundaries import Died
from nonoka.testing.manual_clock import ManualClock
from nonoka.testing.points import Point
from nonoka.testing.runners import crashing_runner, points_of, runner
from nonoka.testing.scripted_model import Response, ScriptedModel, asks

__all__ = [
    "Died",
    "ManualClock",
    "MemoryStore",
    "Point",
    "Response",
    "ScriptedModel",
    "asks",
    "crashing_runner",
    "points_of",
    "runner",
]
