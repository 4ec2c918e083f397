"""The Python face: sessions from a program, worked on here or by workers elsewhere."""

from nonoka.runner.limit_options import LimitOptions
from nonoka.runner.run_result import RunResult
from nonoka.runner.runner import Opening, Runner

__all__ = ["LimitOptions", "Opening", "RunResult", "Runner"]
