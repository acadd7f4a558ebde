"""Differences that come from the recording itself: its environment, and what it leaves out.

A rule looks at one differing part of an outcome and at the rest of that outcome, never at the name
of a scenario.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stretto.federation import names

Fields = dict[str, Any]

_COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_MOVED: Final = ("placements", "overrides", "clusters", "auto-migration-info")
_SPACE: Final = "Namespace/"
_CLUSTER_REASONS: Final = frozenset(
    {"disableRescheduling:true", "rescheduleWhen:nil", "clusterAPIResourcesChanged:false"}
)
"""Reasons that a change of a cluster can have, also one by another recorded scenario."""


class Difference(NamedTuple):
    """One part of an outcome that differs."""

    #: ``federated``, ``members`` or ``source``.
    part: str
    #: Name of the federated object, the member or the source.
    name: str
    #: The recorded value.
    want: Any
    #: The value of the replay.
    got: Any
    #: All recorded parts.
    recorded: Fields
    #: All parts of the replay.
    replayed: Fields
    #: Names of workloads whose clusters or replicas follow the free capacity.
    by_capacity: frozenset[str]


@dataclass(frozen=True, slots=True)
class Circumstance:
    """One rule."""

    #: Name in reports.
    name: str
    #: Why the replay differs.
    reason: str
    #: Whether it explains a difference.
    explains: Callable[[Difference], bool]


def _changed(want: Any, got: Any) -> set[str]:
    """The members that differ; a missing value has none."""
    before, after = want or {}, got or {}
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _capacity(found: Difference) -> bool:
    """Other recorded scenarios used capacity at the same time, as much as nothing tells."""
    changed = _changed(found.want, found.got)
    if found.part == "members" and changed:
        return {each.partition("/")[2] for each in changed} <= found.by_capacity
    workload = found.name.rpartition("-")[0] if found.part == "federated" else ""
    if workload not in found.by_capacity or not changed <= {*_MOVED, "propagated", "synced"}:
        return False
    return found.got is not None and _total(found.want) == _total(found.got)


def _total(federated: Any) -> int:
    """Replicas over all clusters; the number of clusters where replicas are not divided."""
    patches = ((federated or {}).get("overrides") or {}).get("global-scheduler") or {}
    counts = [each["value"] for part in patches.values() for each in part if "value" in each]
    placed = ((federated or {}).get("placements") or {}).get("global-scheduler") or ()
    return sum(counts) if counts else len(placed)


def _generations(found: Difference) -> bool:
    """An API server counts each write of an annotation of a Deployment as a generation."""
    return (
        found.part == "source"
        and found.name.startswith("Deployment/")
        and _changed(found.want, found.got) == {"observedGeneration"}
        and (found.got or {}).get("observedGeneration") is not None
    )


def _ended_namespaces(found: Difference) -> bool:
    """A namespace is shown until KubeAdmiral deletes it again; its end is written by others."""
    if found.part != "members" or not isinstance(found.want, dict):
        return False
    changed, got = _changed(found.want, found.got), found.got or {}
    return bool(changed) and all(each.startswith(_SPACE) and each not in got for each in changed)


def _unrecorded_join(found: Difference) -> bool:
    """What a cluster's bootstrap token wrote is not in the recording."""
    space = f"{_SPACE}{names.SYSTEM_NAMESPACE}"
    return (
        found.part == "members"
        and _changed(found.want, found.got) == {space}
        and space not in (found.want or {})
    )


def _deferred_in_turn(found: Difference) -> bool:
    """KubeAdmiral writes and removes the annotation in turn on each event of a cluster."""
    key = "scheduling-deferred-reasons"
    if found.part != "federated" or _changed(found.want, found.got) != {key}:
        return False
    shown = {found.want.get(key), found.got.get(key)}
    return None in shown and bool(shown & _CLUSTER_REASONS)


def _unready(found: Difference) -> bool:
    """KubeAdmiral marks objects of an unready cluster when some other event makes it look."""
    if found.part == "federated":
        if not _changed(found.want, found.got) <= {"clusters", "propagated"}:
            return False
        return bool(_unready_clusters(found.want, found.got))
    if found.part != "source" or not _changed(found.want, found.got) <= set(_COUNTS):
        return False
    kind, _, name = found.name.partition("/")
    federated = f"{name}-{kind.lower()}s.apps"
    want, got = found.recorded["federated"], found.replayed["federated"]
    return bool(_unready_clusters(want.get(federated), got.get(federated)))


def _unready_clusters(want: Any, got: Any) -> set[str]:
    """Clusters that the recording marks as unready and the replay does not."""
    shown, ours = (want or {}).get("clusters") or {}, (got or {}).get("clusters") or {}
    return {
        name
        for name, state in shown.items()
        if state == "ClusterNotReady" and ours.get(name) == "OK"
    }


def _host_namespaces(found: Difference) -> bool:
    """A namespace that stays on the host is complete; KubeAdmiral never syncs its object."""
    want, got = found.want or {}, found.got or {}
    return (
        found.part == "federated"
        and found.name.endswith("-namespaces")
        and not want.get("synced")
        and "placements" not in want
        and "placements" not in got
        and bool(got.get("synced"))
    )


CIRCUMSTANCES: Final = (
    Circumstance(
        "host-namespaces",
        "A namespace that stays on the host is complete.",
        _host_namespaces,
    ),
    Circumstance(
        "ended-namespaces",
        "A deleted namespace is gone; the recording shows it until another controller ends it.",
        _ended_namespaces,
    ),
    Circumstance(
        "unrecorded-join",
        "The recording leaves out what the bootstrap token of a cluster wrote.",
        _unrecorded_join,
    ),
    Circumstance(
        "deferred-in-turn",
        "Other scenarios change clusters, which defers decisions; the annotation comes and goes.",
        _deferred_in_turn,
    ),
    Circumstance(
        "unready-clusters",
        "An unready cluster is marked on its own object, and on others when they change.",
        _unready,
    ),
    Circumstance(
        "generations",
        "Annotations of a source are written when the placement changes, and only then.",
        _generations,
    ),
    Circumstance(
        "capacity-in-use",
        "Other scenarios used the same clusters at the same time.",
        _capacity,
    ),
)
"""All rules; the first that explains a difference counts."""


def circumstance_of(found: Difference) -> str | None:
    """The name of the rule that explains a difference; ``None`` if no rule does."""
    return next((each.name for each in CIRCUMSTANCES if each.explains(found)), None)
