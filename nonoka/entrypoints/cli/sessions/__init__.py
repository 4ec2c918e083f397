"""``nonoka sessions ...``: look at sessions, and signal them."""
