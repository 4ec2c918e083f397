"""``nonoka doctor``: what is wrong with this set-up, and what to do about it."""
