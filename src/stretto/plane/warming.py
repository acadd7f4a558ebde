"""Loads the kernels of a plane before its first decision, so that no pod waits for them."""

from typing import Final

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore

_NODE: Final = b'{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}'
_POD: Final = (
    b'{"metadata": {"name": "p"}, "spec": {"schedulerName": "%s", "containers": [{"name": "c",'
    b' "resources": {"requests": {"cpu": "1m"}}}]}}'
)
_STEPS: Final = 16
"""Maximum number of steps for one pod."""


def load_kernels(config: PlaneConfig, clock: Clock) -> None:
    """Load (or compile) the kernels of a plane by placing one pod in a separate store."""
    store = MemoryStore(clock, Rng(config.seed))
    store.create(NODE, [_NODE])
    store.create(POD, [_POD % min(config.cluster.scheduler_names).encode()])
    plane = Plane(config, store, clock)
    plane.run_until_idle(_STEPS)
    plane.close()
