"""Measured nodes of the engine bench, which are overcommitted and scored by their load."""

import json
from collections.abc import Sequence
from typing import Any, Final

from stretto.base.clock import Clock, timestamp
from stretto.base.rng import Rng
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.inputs.neutral.fleet import FleetNode

POOL: Final = "bench"
"""The node pool of all nodes."""
LABELS: Final = {POOL_LABEL: POOL}
"""Labels of a node in the pool."""
LEAST_USE, MOST_USE = 10, 55
"""Minimum and maximum usage of a node's CPU and memory in percent; drawn for each node."""
FRESH_S: Final = 86_400
"""Seconds for which a report is valid, longer than any bench."""
PROFILE: Final[dict[str, Any]] = {
    "schedulerName": "stretto",
    "plugins": {
        "filter": {"enabled": [{"name": "LoadAware"}]},
        "score": {
            "disabled": [
                {"name": "NodeResourcesFit"},
                {"name": "NodeResourcesBalancedAllocation"},
            ],
            "enabled": [{"name": "LoadAware"}],
        },
    },
    "pluginConfig": [{"name": "LoadAware", "args": {"nodeMetricExpirationSeconds": FRESH_S}}],
    "stretto": {
        "overcommit": {"pools": {POOL: {"caps": {"cpu": 2}}}, "expirationSeconds": FRESH_S},
    },
}
"""The default profile with LoadAware instead of the scores by requests, and CPU ratio 2."""


def use_reports(nodes: Sequence[FleetNode], clock: Clock, rng: Rng) -> list[bytes]:
    """One report of each node, in the form of its agent."""
    return [_report(node, clock.now(), rng.randint(LEAST_USE, MOST_USE)) for node in nodes]


def _report(node: FleetNode, now: float, percent: int) -> bytes:
    use = {
        "cpu": f"{node.cpu_milli * percent // 100}m",
        "memory": f"{node.memory_mib * percent // 100}Mi",
    }
    metric = {"updateTime": timestamp(now), "nodeMetric": {"genericUsage": use}}
    body = {"metadata": {"name": node.name}, "status": {"nodeMetricStatus": metric}}
    return json.dumps(body).encode()
