"""Cost of the stores: ``python bench/stores.py [--pods N] [--seeded N] [--json PATH]``.

Prints JSON: microseconds for each pod (best of the rounds) of create, watch and bind, for the
memory and the SQLite store, with pods of 2.8 kB; and the memory of seeded running pods. Every run
is checked: all pods are bound and all events are received.
"""

import argparse
import gc
import json
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Bind, Record, Store, WriteOutcome

CLOCK = WallClock()
NODES = 1000
BATCH = 1000


def pod(number: int) -> bytes:
    """A typical pod of 2.8 kB: mostly environment, probes and managed fields."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}
    environment = [{"name": f"SETTING_{n:02}", "value": f"value-of-setting-{n}"} for n in range(22)]
    container = {
        "name": "app",
        "image": "registry.example/team/app:1.2.3",
        "resources": {
            "requests": {"cpu": "500m", "memory": "1Gi"},
            "limits": {"cpu": "1", "memory": "2Gi"},
        },
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": environment,
        "livenessProbe": probe,
        "readinessProbe": probe,
    }
    managed: dict[str, object] = {f"f:field{n}": {"f:value": {}} for n in range(24)}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "0" * 36}
    not_ready = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number:07}",
            "namespace": f"team-{number // BATCH % 20}",
            "labels": {"app": "web", "tier": "front", "pod-template-hash": "5d4f8c7b9"},
            "ownerReferences": [owner | {"controller": True}],
            "managedFields": [{"manager": "controller", "fieldsV1": managed}],
        },
        "spec": {
            "schedulerName": "stretto",
            "priority": 100,
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [not_ready | {"tolerationSeconds": 300}],
            "containers": [container],
            "restartPolicy": "Always",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }
    return json.dumps(body, separators=(",", ":")).encode()


def seconds(work: Callable[[], object]) -> float:
    """Microseconds per pod of a call."""
    begun = CLOCK.monotonic()
    work()
    return CLOCK.monotonic() - begun


def measure(store: Store, bodies: list[bytes]) -> dict[str, float]:
    """One round: create, watch and bind batches of pods."""
    store.create(NODE, [b'{"metadata":{"name":"n%d"}}' % number for number in range(NODES)])
    watch = store.watch(POD, store.list(POD).version)
    took = dict.fromkeys(("create", "watch", "bind"), 0.0)
    seen = bound = 0
    for start in range(0, len(bodies), BATCH):
        begun = CLOCK.monotonic()
        replies = store.create(POD, bodies[start : start + BATCH])
        created = CLOCK.monotonic()
        events = watch.poll()
        polled = CLOCK.monotonic()
        records = [reply.record for reply in replies if reply.record]
        binds = [
            Bind(each.namespace, each.name, each.uid, f"n{n % NODES}")
            for n, each in enumerate(records)
        ]
        ready = CLOCK.monotonic()
        answers = store.bind(binds)
        took["bind"] += CLOCK.monotonic() - ready
        took["create"] += created - begun
        took["watch"] += polled - created
        bound += sum(answer.outcome is WriteOutcome.OK for answer in answers)
        seen += len(events) + len(watch.poll())
    assert bound == len(bodies)
    assert seen == 2 * len(bodies)
    return {f"{name}_us": 1e6 * took[name] / len(bodies) for name in took}


def best(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The minimum of each figure over the rounds, and their sum."""
    figures = {name: round(min(each[name] for each in rounds), 3) for name in rounds[0]}
    return figures | {"create_and_bind_per_s": round(1e6 / sum(figures.values()))}


def resident() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def seeded_bytes(count: int) -> float:
    """Bytes per seeded running pod, including names and uids."""
    body = pod(0)
    nodes = [f"node-{number:06}" for number in range(20_000)]
    teams = [f"team-{number}" for number in range(50)]
    gc.collect()
    before = resident()
    store = MemoryStore(CLOCK, Rng(1))
    store.seed(
        Record(
            POD,
            teams[number % len(teams)],
            f"running-{number:07}",
            f"00000000-0000-4000-8000-{number:012x}",
            number + 1,
            body,
            nodes[number % len(nodes)],
            None,
            "2026-01-01T00:00:00Z",
        )
        for number in range(count)
    )
    assert len(store.list(POD).records) == count
    return (resident() - before) / count


def report(pods: int, rounds: int, seeded: int) -> dict[str, object]:
    """All figures."""
    each_seeded = seeded_bytes(seeded)
    bodies = [pod(number) for number in range(pods)]
    decode = min(seconds(lambda: [decode_pod_head(body) for body in bodies]) for _ in range(rounds))
    memory, sqlite = [], []
    for _ in range(rounds):
        memory.append(measure(MemoryStore(CLOCK, Rng(1)), bodies))
        with tempfile.TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "store.sqlite", CLOCK, Rng(1))
            sqlite.append(measure(store, bodies))
            store.close()
    return {
        "schema": "stretto.bench.stores/v1",
        "python": platform.python_version(),
        "pods": pods,
        "body_bytes": len(bodies[0]),
        "decode_head_us": round(1e6 * decode / pods, 3),
        "memory": best(memory),
        "sqlite": best(sqlite),
        "seeded": seeded,
        "seeded_bytes_each": round(each_seeded),
        "seeded_mb": round(each_seeded * seeded / 1e6),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="cost of the stores")
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeded", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    chosen = parser.parse_args()
    text = json.dumps(report(chosen.pods, chosen.rounds, chosen.seeded), indent=2)
    sys.stdout.write(f"{text}\n")
    if chosen.json:
        chosen.json.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
