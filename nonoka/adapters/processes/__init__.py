"""This machine's processes: commands started held, their end, and whether a worker lives. Linux only."""

from nonoka.adapters.processes.local import LocalProcesses

__all__ = ["LocalProcesses"]
