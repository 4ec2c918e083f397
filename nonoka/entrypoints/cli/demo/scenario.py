"""What is played: three sessions with what their model says, what lies there before, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nonoka.records.base import JsonObject

#: Runs a command, and writes down that it begins and ends: under the mark that everything a call starts
#: carries, ``SESSION:TURN:PLACE#ATTEMPT``, and with its pid.
WITNESS = """\
echo "began $NONOKA_CALL $$" >> ../witness.log
"$@" && echo "done $NONOKA_CALL $$" >> ../witness.log
"""
#: The last part is delivered once the build was killed and recovered: on no machine, however slow, is it done
#: before it can be cut off. It waits for half a minute at most: nobody ends it if the demo itself is killed.
DELIVERY = "delivered"
#: Not safe to repeat: on what half of it has left, the move fails, and lines would be there twice.
BUILD = f"""\
set -e
mv draft.md notes.md
rm old.txt
for part in 1 2 3 4 5 6; do
  if [ $part = 6 ]; then
    waits=0
    until [ -e ../{DELIVERY} ] || [ $((waits += 1)) -gt 600 ]; do sleep 0.05; done
  fi
  echo "part $part" >> parts.txt
  sleep 0.3
done
"""
#: How many files it has changed once a part is made: one is there under another name, which makes two.
BUILD_CHANGES = 4
ADD = """\
total=0
while IFS=, read -r customer euros; do total=$((total + euros)); done < orders.csv
echo $total > total.txt && cat total.txt
"""
ORDERS = "Ada,1200\nBen,345\nMia,89\n"
NAMES = "Mia\nAda\nZoe\nBen\n"

#: The call that is cut off: of the first session, in this turn, at this place in it.
CUT_TURN, CUT_PLACE = 2, 0
#: The worker is killed once the build has made so many of its parts.
CUT_AFTER = 2


@dataclass(frozen=True, slots=True)
class Part:
    """One session of the demo: ``before`` and ``after`` are all files of its workspace, by their path."""

    name: Literal["build", "orders", "names"]
    prompt: str
    says: tuple[JsonObject, ...]
    before: dict[str, str]
    after: dict[str, str]

    @property
    def answer(self) -> str:
        """What the model says last."""
        return str(self.says[-1]["text"])


def _call(name: str, **args: str) -> JsonObject:
    return {"name": name, "args": {**args}}


def _run(command: str) -> JsonObject:
    return _call("run_command", command=f"sh ../witness {command}")


def _says(delay_s: float, *calls: JsonObject, text: str = "") -> JsonObject:
    return {"text": text, "tool_calls": [*calls], "delay_s": delay_s}


#: Comes first, so that it is the first to be taken up again.
BUILD_PART = Part(
    name="build",
    prompt="Set the version to 1.1, build it, and count the parts.",
    says=(
        _says(0.3, _call("edit_file", path="VERSION", old="1.0", new="1.1")),
        _says(0.3, _run("sh build.sh")),
        _says(0.3, _run("grep -c part parts.txt")),
        _says(0.3, text="Version 1.1 is built: 6 parts."),
    ),
    before={
        "VERSION": "1.0\n",
        "build.sh": BUILD,
        "draft.md": "# 1.1\n",
        "old.txt": "of 1.0\n",
        "parts.txt": "# in 1.1\n",
    },
    after={
        "VERSION": "1.1\n",
        "build.sh": BUILD,
        "notes.md": "# 1.1\n",
        "parts.txt": "# in 1.1\n" + "".join(f"part {number}\n" for number in range(1, 7)),
    },
)
ORDERS_PART = Part(
    name="orders",
    prompt="Add up orders.csv, and put the total into report.md.",
    says=(
        _says(0.5, _call("read_file", path="orders.csv")),
        _says(0.8, _call("write_file", path="add.sh", content=ADD)),
        _says(0.5, _run("sh add.sh")),
        _says(0.5, _call("edit_file", path="report.md", old="Total: ?", new="Total: 1634 euros")),
        _says(0.3, text="The orders come to 1634 euros; report.md says so."),
    ),
    before={"orders.csv": ORDERS, "report.md": "# Orders\n\nTotal: ?\n"},
    after={
        "orders.csv": ORDERS,
        "add.sh": ADD,
        "total.txt": "1634\n",
        "report.md": "# Orders\n\nTotal: 1634 euros\n",
    },
)
NAMES_PART = Part(
    name="names",
    prompt="Sort the names, and say who comes first.",
    says=(
        _says(0.4, _call("write_file", path="names.txt", content=NAMES)),
        _says(0.6, _run("sort -o sorted.txt names.txt")),
        _says(0.5, _call("read_file", path="names.txt"), _call("read_file", path="sorted.txt")),
        _says(0.3, text="Ada comes first."),
    ),
    before={},
    after={"names.txt": NAMES, "sorted.txt": "Ada\nBen\nMia\nZoe\n"},
)
PARTS = (BUILD_PART, ORDERS_PART, NAMES_PART)
