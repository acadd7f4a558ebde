"""Protection by a guarantee while pods of its queue are in flight."""

import msgspec

from stretto.api.wire.kinds import QUEUE
from stretto.state.queues.guarantees import GuaranteeBalance
from stretto.state.rows.resources import CPU
from stretto.testing import Harness, make_node, make_pod


def queue(name: str, cpu: str) -> bytes:
    """A queue with a guarantee."""
    head = {"apiVersion": QUEUE.api_version, "kind": QUEUE.kind, "metadata": {"name": name}}
    return msgspec.json.encode({**head, "spec": {"guarantee": {"cpu": cpu}}})


def test_dispatched_pods_do_not_let_placed_pods_be_evicted() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="4")])
    harness.put(QUEUE, queue("research", "1"))
    notes = {"stretto.dev/queue": "research"}
    harness.submit(make_pod("placed", cpu="1", annotations=notes))
    harness.submit(make_pod("large", cpu="64", annotations=notes))
    harness.settle()
    usage, pods = harness.plane.dispatcher.reclaimer.usage, harness.plane.cluster.pods
    assert usage is not None
    unit = next(unit for unit in harness.plane.units if unit.pending)
    unit.away = unit.pending
    usage.promise(unit)
    balance = GuaranteeBalance(usage, [])
    research, other = usage.tree.leaf("research"), usage.tree.leaf("default")
    placed = next(row for row in pods.rows().tolist() if pods.name[row] == "placed")
    assert balance.spare(research, CPU) == 0
    assert balance.protector(placed, other) is research
