"""Events of every watched kind, applied to a cluster: one function per kind.

Kinds that only the rules of some profiles read are applied by ``whole_objects.apply_objects``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from stretto.api.types.workload_groups import FORMS
from stretto.api.wire.kinds import (
    CUSTOM_NODE_RESOURCE,
    MOVEMENT,
    NM_NODE,
    NODE,
    NODE_OVERCOMMIT_CONFIG,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    WORKLOAD_POD_GROUP,
    Kind,
)
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.ingest import Ingest
from stretto.state.ingest.node_reports import apply_movements, apply_reports
from stretto.state.ingest.nodes_and_groups import apply_foreign_groups, apply_workload_groups
from stretto.state.ingest.overcommit import apply_overcommit_configs
from stretto.state.ingest.queues import apply_queues
from stretto.stores.store import WatchEvent

Apply = Callable[[Cluster, Ingest, Sequence[WatchEvent], float], None]
"""Applies events of one kind, in order, at a clock time in seconds."""

APPLY: Final[Mapping[Kind, Apply]] = {
    PRIORITY_CLASS: lambda _, ingest, events, __: ingest.priorities(events),
    NODE: lambda _, ingest, events, __: ingest.nodes(events),
    NM_NODE: lambda _, ingest, events, __: ingest.managers.apply(events),
    CUSTOM_NODE_RESOURCE: lambda cluster, _, events, __: apply_reports(cluster, events),
    NODE_OVERCOMMIT_CONFIG: lambda cluster, _, events, __: apply_overcommit_configs(
        cluster, events
    ),
    QUEUE: lambda cluster, _, events, __: apply_queues(cluster, events),
    WORKLOAD_POD_GROUP: lambda cluster, _, events, __: apply_workload_groups(cluster, events),
    MOVEMENT: lambda cluster, _, events, __: apply_movements(cluster, events),
    POD_GROUP: lambda _, ingest, events, __: ingest.groups(events),
    POD: lambda _, ingest, events, now: ingest.pods(events, now),
}
"""Function for each kind whose entry in the table of kinds has ``watched``."""


def _applying(mark: str) -> Apply:
    """Return the function for the PodGroups of another scheduler."""
    return lambda cluster, _, events, __: apply_foreign_groups(cluster, mark, events)


APPLY_FORMS: Final[Mapping[Kind, Apply]] = {
    kind: _applying(form.mark) for kind, form in FORMS.items()
}
"""Function for each kind of PodGroup that is watched if the store has it."""
