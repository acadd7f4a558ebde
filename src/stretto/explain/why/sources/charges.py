"""The charges of the queues at the end of a recorded run, pod by pod.

A record contains the usage of each queue, but not the queue of each charge. This module derives the
charges from the unit of each pod that has a node.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Final

from stretto.api.codec import decode_as
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD
from stretto.api.wire.labels import QUEUE_NAME
from stretto.control.queues.config import dispatcher_config, queue_config
from stretto.explain.records.record_file import PodStanding, RecordFile
from stretto.explain.words.standing import UnitFacts
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.pool import Pool
from stretto.state.queues.usage import QueueUsage
from stretto.state.work.units import Unit, UnitKind, Units

_MARK: Final = QUEUE_NAME.encode()


def recorded_usage(
    file: RecordFile, profile: Profile, cluster: Cluster, pod_standings: Mapping[int, PodStanding]
) -> QueueUsage | None:
    """Rebuild the charges; ``None`` if no queue shares by usage.

    Args:
        file: the record.
        profile: the profile of the run.
        cluster: the state at the end of the run.
        pod_standings: the state of each pod, by row.
    """
    queues = map(queue_config, cluster.queues.values())
    config = dispatcher_config(profile).having(queues)
    if not config.has_tree:
        return None
    numbers = {row: each.unit for row, each in pod_standings.items() if each.unit is not None}
    made = {number: _unit(file.unit(number)) for number in sorted(set(numbers.values()))}
    units = Units()
    units.grow(cluster.pods.length)
    usage = QueueUsage(cluster.pods, units, Pool(cluster))
    usage.tree.arrange(config.queues, config.between, config.resource)
    for row, number in sorted(numbers.items()):
        unit = units.by_row[row] = made[number]
        if cluster.node_of(row):
            usage.found(row, unit.queue, unit.key, inf)
    for uid, queue in _stated_queues(file):  # single pods on nodes no longer have a unit
        known = cluster.pods.row(uid)
        if known is not None and known not in numbers and cluster.node_of(known):
            usage.found(known, queue, "", inf)
    return usage


def _stated_queues(file: RecordFile) -> Iterator[tuple[str, str]]:
    """(uid, queue) of each pod that names a queue."""
    for record in file.objects(POD):
        if _MARK in record.body:
            meta = decode_as(Pod, record.body).metadata
            queue = meta.annotations.get(QUEUE_NAME) or meta.labels.get(QUEUE_NAME, "")
            if queue:
                yield record.uid, queue


def _unit(facts: UnitFacts) -> Unit:
    return Unit(
        facts.key,
        UnitKind(facts.kind),
        facts.min_member or 1,
        facts.queue,
        sequence=0,
        priority=facts.priority,
    )
