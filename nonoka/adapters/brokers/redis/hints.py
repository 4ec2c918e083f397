"""The broker port over Redis: a send goes to a thread that pushes it, or drops it while Redis is away."""

from __future__ import annotations

import json
import logging
import queue
import threading
from contextlib import suppress
from typing import Any

from nonoka.adapters.brokers.queue_names import QUEUE, actor_of
from nonoka.adapters.brokers.redis.keys import messages_key, queue_key
from nonoka.ports.clock import Clock

log = logging.getLogger(__name__)

#: Messages beyond this many are not sent: each of those there makes a worker claim whatever is due.
MOST_WAITING = 1_000
#: How much is pushed in one request.
_BATCH = 100
#: What this process holds at most for a Redis that is slow.
_MOST_HELD = 10_000
#: Between two tries while Redis is away; sends are dropped meanwhile.
_AWAY_S = 0.5
#: How long the end of a process may wait for what it has sent.
_CLOSE_S = 1.0

# KEYS: the queue's ids, its messages; ARGV: how many may wait, then an id and a message for each
_PUSH = """
if redis.call('llen', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV, 2 do
  redis.call('hset', KEYS[2], ARGV[i], ARGV[i + 1])
  redis.call('rpush', KEYS[1], ARGV[i])
end
return 1
"""


class RedisHints:
    """Sends for one store, once ``bind`` has told which. Loads the client in its thread, at the first send."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._held: queue.Queue[str] = queue.Queue(_MOST_HELD)
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._told = False
        self.namespace: str | None = None
        #: what was sent last could not be pushed
        self.away = False

    def bind(self, namespace: str) -> None:
        """From now on this is whose tasks are sent."""
        self.namespace = namespace

    async def send(self, task_id: str) -> None:
        """The hint is on its way, or dropped. Returns at once and never raises."""
        if self.namespace is None or self.away:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="redis-hints", daemon=True)
            self._thread.start()
        try:
            self._held.put_nowait(task_id)
        except queue.Full:
            log.debug("hint_dropped task=%s", task_id)

    def close(self) -> None:
        """What was sent is pushed, as far as that is possible within a second."""
        self._closing.set()
        if self._thread is not None:
            with suppress(queue.Full):  # it is not waiting then
                self._held.put_nowait("")
            self._thread.join(_CLOSE_S)

    def _work(self) -> None:
        try:
            # Here and not above: it takes 60 ms, which nobody waits for in a thread.
            from nonoka.adapters.brokers.redis.connection import connected  # noqa: PLC0415

            with connected(self._url) as client:
                push = client.register_script(_PUSH)
                while batch := self._next_batch():
                    try:
                        push(keys=self._keys(), args=[MOST_WAITING, *self._messages(batch)])
                        self._told = False
                    except Exception as error:  # noqa: BLE001  whatever it is, the store sends again
                        self._stay_away(client, error)
        except Exception as error:  # noqa: BLE001  no client library, or a URL that is none
            self.away = True
            log.warning("redis_unusable: %s; workers find the tasks in the store", error)

    def _next_batch(self) -> list[str]:
        """What is to be sent; empty once there is nothing more and this is closed."""
        batch: list[str] = []
        while not batch:
            if self._closing.is_set() and self._held.empty():
                break
            batch = [task_id for task_id in (self._held.get(), *self._at_once(_BATCH - 1)) if task_id]
        return batch

    def _at_once(self, most: int) -> list[str]:
        """What is there already, without waiting."""
        found: list[str] = []
        while len(found) < most and not self._held.empty():
            found.append(self._held.get_nowait())
        return found

    def _stay_away(self, client: Any, error: Exception) -> None:
        self.away = True
        if not self._told:
            log.warning("redis_away: %s; workers find the tasks in the store meanwhile", error)
        self._told = True
        while not self._closing.wait(_AWAY_S):
            try:
                client.ping()
                break
            except Exception:  # noqa: BLE001  told once is enough
                continue
        self._at_once(_MOST_HELD)
        self.away = False

    def _keys(self) -> list[str]:
        namespace = self.namespace or ""
        return [queue_key(namespace), messages_key(namespace)]

    def _messages(self, batch: list[str]) -> list[str]:
        found = []
        for task_id in batch:
            message_id = self._clock.new_id()
            found += [message_id, _message(task_id, message_id, self._clock.now_ms())]
        return found


def _message(task_id: str, message_id: str, now: int) -> str:
    """A message as Dramatiq writes it."""
    return json.dumps(
        {
            "queue_name": QUEUE,
            "actor_name": actor_of(task_id),
            "args": [task_id],
            "kwargs": {},
            "options": {"redis_message_id": message_id},
            "message_id": message_id,
            "message_timestamp": now,
        },
        separators=(",", ":"),
    )
