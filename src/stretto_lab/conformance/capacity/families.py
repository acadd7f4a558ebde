"""The families of recorded capacity results, each with the function that recomputes it."""

from collections.abc import Mapping
from typing import Final

from stretto_lab.conformance.capacity import (
    headroom,
    histograms,
    numa,
    overcommit,
    queues,
    recommendation,
    scaling,
    scores,
)
from stretto_lab.conformance.capacity.koordinator import KOORDINATOR
from stretto_lab.conformance.equality import Family, Numbers

FAMILIES: Final[Mapping[str, Family]] = {
    "hpa_behavior": Family(scaling.behavior, Numbers.FLOATS),
    "hpa_metrics": Family(scaling.replicas_of_metrics, Numbers.FLOATS),
    "hpa_replicas": Family(scaling.replicas_of_metric, Numbers.FLOATS),
    "kc_headroom_cpu": Family(headroom.cpu, Numbers.FLOATS),
    "kc_headroom_mem": Family(headroom.memory, Numbers.ALL),
    "kc_headroom_report": Family(headroom.report),
    "kc_headroom_util": Family(headroom.utilisation, Numbers.FLOATS),
    "kc_numa": Family(numa.numa),
    "kc_overcommit_filter": Family(overcommit.node_filter),
    "kc_overcommit_node": Family(overcommit.node_values, Numbers.FLOATS),
    "kc_overcommit_ratio": Family(overcommit.ratio, Numbers.FLOATS),
    "kc_recommend": Family(recommendation.recommend, Numbers.FLOATS),
    "vpa_recommend": Family(histograms.recommend, Numbers.ALL),
    **KOORDINATOR,
    "vo_binpack": Family(scores.binpack, Numbers.FLOATS),
    "vo_capacity": Family(queues.configured, Numbers.FLOATS),
    "vo_proportion": Family(queues.proportional, Numbers.FLOATS),
    "vo_usage": Family(scores.usage, Numbers.FLOATS),
}
"""Computation and comparison of each family."""
