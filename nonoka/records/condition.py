"""What can be said of a store's file from outside."""

from __future__ import annotations

from nonoka.records.base import Record


class StoreCondition(Record):
    """The file and what is around it, as ``doctor`` finds it.

    ``schema_version`` is None where the file isn't there or can't be read (then ``trouble`` says why);
    ``known_schema`` is the one that this nonoka reads and writes. ``others_may`` is true where users other
    than the owner can get at the file. ``size_bytes`` counts what SQLite keeps beside it too.
    """

    path: str
    exists: bool
    filesystem: str
    trouble: str | None = None
    schema_version: int | None = None
    known_schema: int
    others_may: bool = False
    size_bytes: int = 0


class CheckedRule(Record):
    """One rule of the store, and what breaks it: nothing where the store is sound.

    ``repaired`` says what was done about all of it; ``remedy`` what else helps.
    """

    rule: str
    broken: tuple[str, ...] = ()
    repaired: str | None = None
    remedy: str | None = None

    @property
    def holds(self) -> bool:
        """Nothing breaks it, or nothing does any more."""
        return not self.broken or self.repaired is not None
