"""Adopts a ``sessions.db`` that nonoka 1.3.8 wrote. ``schema.migrate`` calls ``adopt``, inside its transaction."""
