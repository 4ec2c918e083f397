"""The directory that the demo plays in: workspaces, scripts, the witness, and the store of its own."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from nonoka.entrypoints.cli.demo.scenario import BUILD_PART, DELIVERY, PARTS, WITNESS, Part
from nonoka.entrypoints.cli.demo.witness import Witnessed, read_witness
from nonoka.errors import NonokaError
from nonoka.settings import Settings


class Scratch:
    """A new directory, only for its owner, in the system's place for such."""

    def __init__(self) -> None:
        try:
            self.directory = Path(tempfile.mkdtemp(prefix="nonoka-demo-"))
            self._lay_out()
        except OSError as error:
            raise NonokaError(
                f"the demo needs a directory to play in, and can't make one: {error}; set TMPDIR to one"
            ) from None

    def _lay_out(self) -> None:
        # The nearest settings upward from here are these: nobody else's model or limits play a part.
        _write(self.directory, {"nonoka.toml": "", "witness": WITNESS})
        for part in PARTS:
            (self.directory / part.name).mkdir()
            _write(self.directory / part.name, part.before)
            _write(self.directory, {f"scripts/{part.name}.yaml": json.dumps(part.says, indent=2) + "\n"})

    @property
    def settings(self) -> Settings:
        """The settings of a project of its own."""
        return Settings(cwd=self.directory, db=self.directory / ".nonoka" / "sessions.db")

    @property
    def log(self) -> Path:
        """What the workers say."""
        return self.directory / "workers.log"

    def model(self, part: Part) -> str:
        """The scripted model of a session, by the name that is stored with it."""
        return f"script:{self.directory / 'scripts' / part.name}.yaml"

    def workspace(self, part: Part) -> Path:
        """Where a session works."""
        return self.directory / part.name

    def built(self) -> int:
        """How many parts the build has made so far."""
        return (_read(self.workspace(BUILD_PART) / "parts.txt") or "").count("part ")

    def deliver(self) -> None:
        """What the build waits for is there."""
        (self.directory / DELIVERY).touch()

    def witnessed(self) -> tuple[Witnessed, ...]:
        """What the commands say of themselves."""
        return read_witness(_read(self.directory / "witness.log") or "")

    def files(self) -> dict[str, str | None]:
        """Every file of the workspaces, and what it holds; None for one that can't be read."""
        found = [path for part in PARTS for path in self.workspace(part).rglob("*") if not path.is_dir()]
        inside = {str(path.relative_to(self.directory)): path for path in found}
        return {name: _read(path) for name, path in inside.items() if ".nonoka" not in Path(name).parts}

    def last_of_log(self) -> str:
        """The last line that the workers said; empty if they said nothing."""
        return ((_read(self.log) or "").splitlines() or [""])[-1]

    def remove(self) -> None:
        """The directory is gone."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _write(directory: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).write_text(content, encoding="utf-8")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
