"""Writes to a store until it is killed; prints each acknowledgement immediately.

Run as a program: ``kill_child.py FILE SEED``. Prints a line for each acknowledged write:
``made UID VERSION``, ``bound UID NODE VERSION``, ``gone UID VERSION``; and before a deletion, which
may land without a word, ``drop UID``.
"""

import sys
from pathlib import Path

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Bind, Deletion, Record, WriteOutcome

NODES = 5
BATCH = 16


def main(path: Path, seed: int) -> None:
    """Create, bind and delete until killed."""
    rng = Rng(seed)
    store = SqliteStore(path, WallClock(), rng.child("store"))
    store.create(NODE, [b'{"metadata":{"name":"n%d"}}' % number for number in range(NODES)])
    pods = {record.uid: record for record in store.list(POD).records}
    say("ready")
    round_ = store.version
    while True:
        round_ += 1
        made = [b'{"metadata":{"name":"p%d-%d"},"spec":{}}' % (round_, n) for n in range(BATCH)]
        for reply in store.create(POD, made):
            if reply.outcome is WriteOutcome.OK and reply.record:
                pods[reply.record.uid] = reply.record
                say(f"made {reply.record.uid} {reply.record.version}")
        bind_all(store, pods, rng)
        if len(pods) > 10 * BATCH:
            delete_some(store, pods)


def bind_all(store: SqliteStore, pods: dict[str, Record], rng: Rng) -> None:
    """Bind all pending pods to random nodes."""
    waiting = [pod for pod in pods.values() if not pod.node]
    binds = [
        Bind(pod.namespace, pod.name, pod.uid, f"n{rng.randint(0, NODES - 1)}") for pod in waiting
    ]
    for reply in store.bind(binds):
        if reply.outcome is WriteOutcome.OK and reply.record:
            pods[reply.record.uid] = reply.record
            say(f"bound {reply.record.uid} {reply.record.node} {reply.record.version}")


def delete_some(store: SqliteStore, pods: dict[str, Record]) -> None:
    """Delete the eldest."""
    eldest = list(pods.values())[:BATCH]
    for pod in eldest:
        say(f"drop {pod.uid}")
    replies = store.delete(POD, [Deletion(pod.namespace, pod.name, pod.uid) for pod in eldest])
    for pod, reply in zip(eldest, replies, strict=True):
        if reply.outcome is WriteOutcome.OK and reply.record:
            del pods[pod.uid]
            say(f"gone {pod.uid} {reply.record.version}")


def say(line: str) -> None:
    """Print one whole line immediately."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
