"""Application of node and PodGroup events.

An unreadable object is recorded in ``cluster.abnormal`` and fails alone.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.godel import (
    PodGroup,
    PodGroupAffinities,
    PodGroupAffinity,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTerm,
)
from stretto.api.types.workload_groups import (
    MARK,
    PluginsPodGroup,
    WorkloadPodGroup,
)
from stretto.base.errors import InputError
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest import whole_objects
from stretto.state.ingest.node_reports import record_placement_rules
from stretto.state.ingest.second_managers import NodeManagers
from stretto.state.work.changes import GroupChange
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

_NODE: Final = msgspec.json.Decoder(Node)
NO_TIMEOUT: Final = (1 << 31) - 1
"""Schedule timeout in seconds of a group without one: 68 years."""


def apply_nodes(cluster: Cluster, events: Iterable[WatchEvent], managers: NodeManagers) -> None:
    """Apply node events; a node manager may change the allocatable amounts."""
    for event in events:
        record = event.record
        key = f"node {record.name}"
        if event.type is EventType.DELETED:
            cluster.abnormal.pop(key, None)
            cluster.node_updates.remove(record.name)
            whole_objects.forget_node(cluster, record.name)
            managers.node_removed(record.name)
            continue
        try:
            node = _NODE.decode(record.body)
            meta = msgspec.structs.replace(
                node.metadata,
                name=record.name,
                uid=record.uid,
                resource_version=str(record.version),
            )
            node = msgspec.structs.replace(node, metadata=meta)
            node = managers.adjusted(node)
            cluster.node_updates.put(node)
            managers.node_added(record.name)
            if cluster.config.whole:
                whole_objects.store_node(cluster, node)
            cluster.abnormal.pop(key, None)
        except (msgspec.DecodeError, InputError, RecursionError) as error:
            cluster.abnormal[key] = str(error)
    if cluster.nodes.images.active and not cluster.classes.by_image:
        cluster.classes.include_images()


def apply_groups(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply PodGroup events."""
    _apply_groups(cluster, events, "", _own_group)


def apply_workload_groups(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply events of Kubernetes' own PodGroups, translated to Gödel's.

    They have no schedule timeout.
    """
    _apply_groups(cluster, events, MARK, _workload_group)


def apply_foreign_groups(cluster: Cluster, mark: str, events: Iterable[WatchEvent]) -> None:
    """Apply events of the PodGroups of another scheduler, translated to Gödel's."""
    _apply_groups(cluster, events, mark, _foreign_group)


def _apply_groups(
    cluster: Cluster,
    events: Iterable[WatchEvent],
    mark: str,
    decoded: Callable[[Record], PodGroup],
) -> None:
    """Apply events of one form of PodGroups; their names get a mark."""
    for event in events:
        key = f"{event.record.namespace}/{event.record.name}{mark}"
        if event.type is EventType.DELETED:
            cluster.abnormal.pop(f"podgroup {key}", None)
            cluster.groups.pop(key, None)
            cluster.directed.discard(key)
            cluster.changes.groups.append(GroupChange(key, None))
            continue
        try:
            group = decoded(event.record)
        except InputError as error:
            _refuse_group(cluster, key, error)
            continue
        cluster.abnormal.pop(f"podgroup {key}", None)
        cluster.groups[key] = group
        record_placement_rules(cluster, key, group)
        cluster.changes.groups.append(GroupChange(key, group))
        cluster.changes.add_cures(Cure.GROUP_CHANGED)


def _own_group(record: Record) -> PodGroup:
    """A PodGroup of Gödel's form."""
    group = decode_as(PodGroup, record.body, "podgroup")
    metadata = msgspec.structs.replace(
        group.metadata, uid=record.uid, resource_version=str(record.version)
    )
    return msgspec.structs.replace(group, metadata=metadata)


def _foreign_group(record: Record) -> PodGroup:
    """Translate a PodGroup of another scheduler to Gödel's; a minimum of zero becomes one.

    PodGroups of Volcano and scheduler-plugins have the same spec.
    """
    group = decode_as(PluginsPodGroup, record.body, "podgroup")
    spec = group.spec
    return PodGroup(
        metadata=msgspec.structs.replace(group.metadata, uid=record.uid),
        spec=PodGroupSpec(
            min_member=max(1, spec.min_member),
            priority_class_name=spec.priority_class_name,
            schedule_timeout_seconds=spec.schedule_timeout_seconds or NO_TIMEOUT,
        ),
        status=PodGroupStatus(phase=group.status.phase),
    )


def _workload_group(record: Record) -> PodGroup:
    """Translate a Kubernetes PodGroup to Gödel's."""
    group, uid = decode_as(WorkloadPodGroup, record.body, "podgroup"), record.uid
    spec = group.spec
    gang, places = spec.scheduling_policy.gang, spec.scheduling_constraints
    topology = places.topology if places is not None else ()
    terms = tuple(PodGroupTerm(topology_key=each.key) for each in topology)
    affinity = PodGroupAffinities(PodGroupAffinity(required=terms)) if terms else None
    return PodGroup(
        metadata=msgspec.structs.replace(group.metadata, uid=uid),
        spec=PodGroupSpec(
            min_member=gang.min_count if gang is not None else 1,
            priority_class_name=spec.priority_class_name,
            schedule_timeout_seconds=NO_TIMEOUT,
            affinity=affinity,
        ),
    )


def _refuse_group(cluster: Cluster, key: str, error: InputError) -> None:
    """Keep the last readable version of a group; if there is none, report the error to its pods."""
    name = key.partition("@")[0]
    message = str(error).removeprefix(f"podgroup {name}: ").removeprefix("podgroup: ")
    cluster.abnormal[f"podgroup {key}"] = message
    if key not in cluster.groups:
        fault = f"PodGroup {name} cannot be read: {message}"
        cluster.changes.groups.append(GroupChange(key, None, fault))
