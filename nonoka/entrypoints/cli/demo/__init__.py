"""``nonoka demo``: three scripted sessions, two real workers, one real SIGKILL, and what came of it."""
