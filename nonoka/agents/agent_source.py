"""Imports the module or file that an agent is in. Used by registry.py."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

from nonoka.agents.agent import Agent
from nonoka.agents.plain_value import safe_str
from nonoka.errors import AgentUnloadable

FileVersion = tuple[int, int, int]
_lock = threading.RLock()
_files: dict[Path, tuple[FileVersion, ModuleType]] = {}
#: modules that were imported from beside an agent's file
_siblings: set[str] = set()


def import_named(name: str, module: str) -> ModuleType:
    """A module from this process's path. Raises AgentUnloadable."""
    with _lock, _failures_told(name, None):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{module}.".startswith(f"{error.name}."):
                raise AgentUnloadable(
                    f"agent {name!r}: there is no module {error.name!r} on this process's path"
                ) from error
            raise


def import_file(name: str, path: Path) -> ModuleType:
    """A file as a module of its own, run again only if it has changed. Raises AgentUnloadable.

    What lies beside it can be imported while it is read; an edit there shows once the file itself changes.
    """
    path = Path(os.path.abspath(path))
    with _lock:
        try:
            status = path.stat()
        except OSError as error:
            raise AgentUnloadable(f"agent {name!r}: {str(path)!r} can't be read: {error.strerror}") from error
        version = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = _files.get(path)
        if known is None or known[0] != version:
            with _failures_told(name, path):
                known = version, _run(path, version)
            _files[path] = known
        return known[1]


def agents_in(module: ModuleType) -> list[str]:
    """The names of the agents in a module."""
    return sorted(name for name, value in vars(module).items() if isinstance(value, Agent))


class _UncachedLoader(SourceFileLoader):
    """Compiles each time: Python's cache takes an edit of equal size within the second for none."""

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.get_data(self.path), self.path)


def _run(path: Path, version: FileVersion) -> ModuleType:
    mark = hashlib.sha256(f"{path}\0{version}".encode(errors="surrogateescape")).hexdigest()[:16]
    loader = _UncachedLoader(f"nonoka_agent_{mark}", str(path))
    spec = spec_from_loader(loader.name, loader)
    if spec is None:
        raise ImportError(f"{str(path)!r} has no module spec")
    module = module_from_spec(spec)
    sys.modules[loader.name] = module
    try:
        with _importable_beside(path.parent):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[loader.name]
        raise
    return module


@contextmanager
def _importable_beside(directory: Path) -> Iterator[None]:
    # another file's sibling of the same name must not be taken for this one's
    for name in _siblings:
        sys.modules.pop(name, None)
    _siblings.clear()
    before = set(sys.modules)
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if str(directory) in sys.path:
            sys.path.remove(str(directory))
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None)
            if origin is not None and Path(origin).is_relative_to(directory):
                _siblings.add(name)


@contextmanager
def _failures_told(name: str, path: Path | None) -> Iterator[None]:
    try:
        yield
    except AgentUnloadable:
        raise
    except (Exception, SystemExit) as error:
        message = " ".join(safe_str(error).split())
        text = f"{type(error).__name__}: {message}" if message else type(error).__name__
        raise AgentUnloadable(f"agent {name!r} can't be imported: {text} ({_place(error, path)})") from error


def _place(error: BaseException, path: Path | None) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
    own = [frame for frame in frames if path is not None and frame.filename == str(path)]
    last = (own or frames)[-1]
    return f"{last.filename}:{last.lineno}"
