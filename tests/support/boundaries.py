"""The boundaries of the crash tests are those that nonoka gives to everybody's tests."""

from nonoka.testing.boundaries import Boundaries, Died, play_death
from nonoka.testing.points import Point, When

__all__ = ["Boundaries", "Died", "Point", "When", "play_death"]
