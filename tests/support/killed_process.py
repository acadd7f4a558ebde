"""A process that kills itself between two evictions of a reclaim, as a power cut would.

python -m tests.support.killed_process STORE RULE EVICTIONS
"""

import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.immediate import answered
from stretto.stores.store import Eviction, Replies, Write
from tests.support.gang_reclaim import full_cluster, submit_gang


class LethalStore(SqliteStore):
    """Kills the process after some evictions."""

    def __init__(self, path: Path, evictions: int) -> None:
        """Create the file; the process is killed right after ``evictions`` evictions."""
        super().__init__(path, ManualClock(), Rng(0))
        self._left = evictions

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods one by one, each durable before the next."""
        replies: list[Replies] = []
        for each in evictions:
            replies.append(super().evict([each]))
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
        return [reply for group in replies for reply in group]

    def begin(self, write: Write) -> "Future[Replies]":
        """Perform a batch of writes; evictions one by one."""
        return answered(self, write)


def main(path: str, rule: str, evictions: str) -> None:
    """Fill a cluster, submit a gang, and run until the process is killed."""
    harness = full_cluster(store=LethalStore(Path(path), int(evictions)))
    submit_gang(harness, rule)
    harness.run(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
