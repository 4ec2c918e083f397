"""200 kills at random moments over 50 sessions: what was lost, what was repeated?

    python benchmarks/random_kills.py [--redis] [--sessions 50] [--kills 200] [--turns 15] [--seed N]

Three workers under the real supervisor, which one of them is killed (SIGKILL) every 0.3 to 1 s; each turn reads
twice, runs a command and pays. Lost is a session that isn't complete, or not whole; repeated is a call that ran
again after its result had been committed. A call that ran again because its worker died in it was in doubt. Exits
with 1 if anything was lost or repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.kills import Campaign, campaign
from tests.support.project import Project
from tests.support.redis_server import RedisServer


async def run(options: argparse.Namespace) -> Campaign:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        environ = {"NONOKA_LOG_LEVEL": "warning"}
        if options.redis:
            environ["NONOKA_REDIS_URL"] = stack.enter_context(RedisServer(Path(name) / "redis")).url
        project = Project(Path(name) / "project", environ=environ)
        return await campaign(
            project,
            random.Random(options.seed),
            sessions=options.sessions,
            kills=options.kills,
            turns=options.turns,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", action="store_true")
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    begun = time.perf_counter()
    found = asyncio.run(run(options))
    print(
        f"{'redis' if options.redis else 'in-process'}, seed {options.seed}: {found.kills} kills over "
        f"{found.sessions} sessions in {time.perf_counter() - begun:.0f} s; {found.releases} met a turn, "
        f"{found.in_doubt} calls in doubt ran again; {len(found.lost)} lost, {len(found.repeated)} repeated"
    )
    for what in (*found.lost, *map(str, found.repeated)):
        print(what)
    return 1 if found.lost or found.repeated else 0


if __name__ == "__main__":
    sys.exit(main())
