"""A queue with the new policy starts the pod that arrived last."""

from stretto.api.types.godel import Queue, QueueSpec
from stretto.api.wire.meta import ObjectMeta
from stretto.control.queues.config import DispatcherConfig, queue_config
from stretto.testing import Harness, make_node, make_pod

queue = Queue(metadata=ObjectMeta(name="late"), spec=QueueSpec(policy="LastCome"))
config = {"dispatcher": DispatcherConfig(queues=(queue_config(queue),))}
harness = Harness([make_node("n1", cpu="1")], config=config)
labels = {"stretto.dev/queue": "late"}
harness.submit(*(make_pod(name, cpu="1", labels=labels) for name in ("early", "late")))
harness.settle()
assert harness.placements() == {"early": "", "late": "n1"}, harness.placements()
