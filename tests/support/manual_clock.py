"""The clock of the tests is the one that nonoka gives to everybody's tests."""

from nonoka.testing.manual_clock import START_MS, ManualClock

__all__ = ["START_MS", "ManualClock"]
