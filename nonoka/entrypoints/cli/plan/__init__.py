"""``nonoka plan ...``: look at plan files before they are run."""
