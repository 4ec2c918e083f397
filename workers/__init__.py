"""Processes that run tasks: ``nonoka worker`` supervises them, ``dramatiq workers.main`` works too."""
