"""Watch events of nodes and PodGroups into the cluster; ``ingest`` is about pods.

An object that cannot be read is noted in ``cluster.abnormal`` and fails alone.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.godel import (
    PodGroup,
    PodGroupAffinities,
    PodGroupAffinity,
    PodGroupSpec,
    PodGroupTerm,
)
from stretto.api.types.workload_groups import MARK, WorkloadPodGroup
from stretto.base.errors import InputError
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest import whole_objects
from stretto.state.ingest.node_reports import record_placement_rules
from stretto.state.ingest.second_managers import NodeManagers
from stretto.state.work.changes import GroupChange
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, WatchEvent

_NODE: Final = msgspec.json.Decoder(Node)
NO_TIMEOUT: Final = (1 << 31) - 1
"""Seconds after which a group has failed that states no time: 68 years."""


def apply_nodes(cluster: Cluster, events: Iterable[WatchEvent], managers: NodeManagers) -> None:
    """Apply node events; a node manager may have a say in what its node gives."""
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


def apply_workload_groups(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply events of Kubernetes' own PodGroups: from here on they are groups like Gödel's.

    They state no time after which they have failed.
    """
    for event in events:
        key = f"{event.record.namespace}/{event.record.name}{MARK}"
        if event.type is EventType.DELETED:
            cluster.abnormal.pop(f"podgroup {key}", None)
            cluster.groups.pop(key, None)
            cluster.directed.discard(key)
            cluster.changes.groups.append(GroupChange(key, None))
            continue
        try:
            found = decode_as(WorkloadPodGroup, event.record.body, "podgroup")
        except InputError as error:
            _refuse_group(cluster, key, error)
            continue
        group = _translated(found, event.record.uid)
        cluster.abnormal.pop(f"podgroup {key}", None)
        cluster.groups[key] = group
        record_placement_rules(cluster, key, group)
        cluster.changes.groups.append(GroupChange(key, group))
        cluster.changes.cures |= Cure.GROUP_CHANGED


def _translated(group: WorkloadPodGroup, uid: str) -> PodGroup:
    """One of Kubernetes' groups in Gödel's words."""
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


def apply_groups(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply PodGroup events."""
    for event in events:
        key = f"{event.record.namespace}/{event.record.name}"
        if event.type is EventType.DELETED:
            cluster.abnormal.pop(f"podgroup {key}", None)
            cluster.groups.pop(key, None)
            cluster.directed.discard(key)
            cluster.changes.groups.append(GroupChange(key, None))
            continue
        try:
            group = decode_as(PodGroup, event.record.body, "podgroup")
        except InputError as error:
            _refuse_group(cluster, key, error)
            continue
        record, meta = event.record, group.metadata
        meta = msgspec.structs.replace(meta, uid=record.uid, resource_version=str(record.version))
        group = msgspec.structs.replace(group, metadata=meta)
        cluster.abnormal.pop(f"podgroup {key}", None)
        cluster.groups[key] = group
        record_placement_rules(cluster, key, group)
        cluster.changes.groups.append(GroupChange(key, group))
        cluster.changes.cures |= Cure.GROUP_CHANGED


def _refuse_group(cluster: Cluster, key: str, error: InputError) -> None:
    """A group cannot be read: it is as it was read last; where it never was, its pods are told."""
    name = key.removesuffix(MARK)
    said = str(error).removeprefix(f"podgroup {name}: ").removeprefix("podgroup: ")
    cluster.abnormal[f"podgroup {key}"] = said
    if key not in cluster.groups:
        fault = f"PodGroup {name} cannot be read: {said}"
        cluster.changes.groups.append(GroupChange(key, None, fault))
