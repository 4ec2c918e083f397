"""Which result belongs to which call, where neither ids nor places can be relied on. The repair asks this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nonoka.decisions.conversation_rules import calls_of
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall


@dataclass(frozen=True, slots=True)
class FoundResult:
    """A tool's entry, and where it stands among all entries."""

    place: int
    entry: MemoryEntry

    @property
    def call_id(self) -> str:
        """The call it says it answers; empty where it names none."""
        return self.entry.tool_call_id or ""

    @property
    def tool(self) -> str | None:
        """The tool it says it is of."""
        name = self.entry.metadata.get("name")
        return name if isinstance(name, str) else None


@dataclass(eq=False, slots=True)
class Asking:
    """An entry that asks for calls, and the result found for each, in the order asked."""

    place: int
    position: int
    calls: tuple[ToolCall, ...]
    results: list[FoundResult | None] = field(init=False)

    def __post_init__(self) -> None:
        self.results = [None] * len(self.calls)

    def takes(self, result: FoundResult, fits: Callable[[ToolCall], bool]) -> bool:
        """Whether a call that fits was still without result: it has this one now.

        Of several the one whose reserved position the result stands at, else the first of its tool.
        """
        free = [n for n, call in enumerate(self.calls) if self.results[n] is None and fits(call)]
        if not free:
            return False
        reserved = result.entry.position - self.position - 1
        likeliest = [n for n in free if self.calls[n].name == result.tool] or free
        self.results[reserved if reserved in likeliest else likeliest[0]] = result
        return True


@dataclass(frozen=True, slots=True)
class Matching:
    """``asking`` by the place of its entry; ``surplus`` are results that no call can be given."""

    asking: dict[int, Asking]
    surplus: tuple[FoundResult, ...]


def match_results(entries: Sequence[MemoryEntry]) -> Matching:
    """Each result is given to the nearest call before it that has its id; of two, the first is kept.

    One whose id no call before it has goes to a later call with that id, else to a call of the same tool in
    the nearest message before it, since ids may have been lost; never to a call of another tool.
    """
    asking: dict[int, Asking] = {}
    by_id: dict[str, list[Asking]] = {}
    surplus: list[FoundResult] = []
    unplaced: list[tuple[FoundResult, Asking | None]] = []
    before: Asking | None = None
    for place, entry in enumerate(entries):
        if calls := calls_of(entry):
            before = asking[place] = Asking(place, entry.position, calls)
            for call_id in {call.id for call in calls if call.id}:
                by_id.setdefault(call_id, []).append(before)
        elif entry.role is MemoryRole.TOOL:
            result = FoundResult(place, entry)
            named = by_id.get(result.call_id)
            if not named:
                unplaced.append((result, before))
            elif not named[-1].takes(result, _has_id_of(result)):
                surplus.append(result)
    for result, nearest in unplaced:
        later = (one for one in by_id.get(result.call_id, ()) if one.place > result.place)
        if any(one.takes(result, _has_id_of(result)) for one in later):
            continue
        if nearest is None or not nearest.takes(result, _is_of_tool_of(result)):
            surplus.append(result)
    return Matching(asking, tuple(surplus))


def _has_id_of(result: FoundResult) -> Callable[[ToolCall], bool]:
    return lambda call: call.id == result.call_id


def _is_of_tool_of(result: FoundResult) -> Callable[[ToolCall], bool]:
    nameless = result.tool is None and not result.call_id
    return lambda call: nameless or call.name == result.tool
