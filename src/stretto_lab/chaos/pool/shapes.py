"""Nodes, pods and limits of queues, drawn from a seed."""

from typing import Any, Final

from stretto.base.rng import Rng
from stretto.state.classes.table import GPU
from stretto.testing import make_node, make_pod

Body = dict[str, Any]
QUEUES: Final = ("a", "b", "x", "default")
"""Queues of pods."""
SCHEDULER: Final = "stretto"
"""Scheduler of all pods."""
PORTS: Final = ((31000, 31005),)
"""Host ports that every node offers."""
DISK: Final = "ephemeral-storage"
_USED_PORTS: Final = (31000, 31001, 31003, 31005, 31009)
"""Host ports of pods; one of them is not offered."""


def drawn_node(rng: Rng, name: str) -> bytes:
    """A node, with GPUs in one of three cases."""
    cpu, memory = rng.choice((("4", "4Gi"), ("8", "16Gi"), ("2", "8Gi")))
    gpus, pods = rng.choice((0, 0, 0, 0, 2, 4)), rng.choice((3, 110))
    return make_node(name, cpu=cpu, memory=memory, gpus=gpus, pods=pods, resources={DISK: "4Gi"})


def drawn_allocatable(rng: Rng) -> Body:
    """A new allocatable amount of one resource of a node."""
    draw = rng.random()
    if draw < 0.2:
        return {DISK: rng.choice(("1Gi", "4Gi"))}
    if draw < 0.4:
        return {GPU: rng.choice(("0", "1", "2", "4"))}
    return {"cpu": rng.choice(("1", "2", "4", "8"))}


def drawn_pod(rng: Rng, name: str) -> bytes:
    """A pod, with GPUs, a host port or local storage in a few cases."""
    more: Body = {}
    draw = rng.random()
    if draw < 0.12:
        more["gpus"] = rng.choice((1, 1, 2))
    elif draw < 0.2:
        more |= {"gpus": 1, "gpu_milli": rng.choice((300, 500))}
    elif draw < 0.3:
        more["ports"] = [rng.choice(_USED_PORTS)]
    elif draw < 0.4:
        more["resources"] = {DISK: rng.choice(("512Mi", "2Gi"))}
    return make_pod(
        name,
        cpu=rng.choice(("500m", "1", "2", "3")),
        memory="256Mi",
        priority=rng.choice((0, 0, 0, 100)),
        labels={"stretto.dev/queue": rng.choice(QUEUES)},
        scheduler=SCHEDULER,
        **more,
    )


def drawn_queue(rng: Rng, name: str) -> Body:
    """The spec of a queue, with a limit, a guarantee, or neither."""
    spec: Body = {"parent": "a"} if name == "x" else {}
    spec["weight"] = rng.randint(1, 3)
    if rng.random() < 0.5:
        spec["limit"] = {"cpu": str(rng.randint(2, 6)), "memory": "8Gi"}
        if rng.random() < 0.3:
            spec["limit"][GPU] = str(rng.randint(0, 2))
    elif rng.random() < 0.5:
        spec["guarantee"] = {"cpu": str(rng.randint(1, 3))}
    return spec
