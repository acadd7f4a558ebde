"""The cluster state at the end of a recorded run.

The objects of a record are applied to the state in the same way as events of a store.
"""

from typing import NamedTuple

import numpy as np

from stretto.base.clock import parse_timestamp
from stretto.capacity.overcommit.nodes import NodeRatios
from stretto.explain.records.record_file import PodStanding, RecordFile
from stretto.explain.records.rereading import added_events, read_into
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.whole_objects import apply_objects
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT


class RestoredCluster(NamedTuple):
    """A cluster restored from a record."""

    #: Nodes, pods and classes.
    cluster: Cluster
    #: Recorded state of each pod by row.
    pod_standings: dict[int, PodStanding]


def restored_cluster(file: RecordFile, profile: Profile, names: frozenset[str]) -> RestoredCluster:
    """Restore the cluster at the end of a run.

    Args:
        file: the record.
        profile: the run's profile, which determines the kinds that are kept whole.
        names: values of ``schedulerName`` that the scheduler handles.
    """
    cluster = Cluster(profile.shape(ClusterConfig(scheduler_names=names)))
    for kind in profile.kinds:
        apply_objects(cluster, kind, added_events(file.objects(kind)))
    standings = _fill(cluster, file)
    ratios = NodeRatios(cluster, profile.capacity.overcommit, lambda: _ended_at(cluster, file))
    ratios.step(0.0)
    return RestoredCluster(cluster, standings)


def _ended_at(cluster: Cluster, file: RecordFile) -> float:
    """Wall time of the end of a run: the time of the newest measurement, or else of the start."""
    newest = cluster.nodes.reports.newest
    return parse_timestamp(newest or file.facts().started)


def _fill(cluster: Cluster, file: RecordFile) -> dict[int, PodStanding]:
    """Apply a record's objects to a cluster; returns the state of each pod by row."""
    read_into(cluster, file.objects)
    found = {}
    pods = cluster.pods
    for uid, standing in file.pod_standings().items():
        row = pods.row(uid)
        if row is None:
            continue
        found[row] = standing
        if pods.slot[row] == NO_SLOT and pods.state[row] != PodState.BOUND:
            pods.state[row] = _pending_state(standing.state)
    pods.since[list(found)] = np.array([each.since for each in found.values()], np.float64)
    return found


def _pending_state(state: int) -> int:
    """Recorded state of a pod without a node; an unconfirmed bind counts as pending."""
    return state if state not in (PodState.BOUND, PodState.ASSUMED) else int(PodState.PENDING)
