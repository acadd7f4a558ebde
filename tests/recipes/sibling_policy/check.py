"""Between queues with the new policy, the queue that uses less memory has the next turn."""

from stretto.api.types.godel import Queue, QueueSpec
from stretto.api.wire.meta import ObjectMeta
from stretto.control.queues.config import DispatcherConfig, queue_config
from stretto.testing import Harness, make_node, make_pod

root = Queue(metadata=ObjectMeta(name="root"), spec=QueueSpec(policy="LeastMemory"))
config = {"dispatcher": DispatcherConfig().having([queue_config(root)])}
harness = Harness([make_node("n1", cpu="3", memory="10Gi")], config=config)


def pod(name: str, memory: str, queue: str) -> bytes:
    return make_pod(name, cpu="1", memory=memory, labels={"stretto.dev/queue": queue})


harness.submit(pod("large", "4Gi", "a"), pod("small", "1Gi", "b"))
harness.settle()
harness.submit(pod("of-a", "1Gi", "a"), pod("of-b", "1Gi", "b"))
harness.settle()
assert (harness.node_of("of-a"), harness.node_of("of-b")) == ("", "n1"), harness.placements()
