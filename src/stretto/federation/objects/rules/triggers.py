"""Changes that schedule a federated object again, recorded in an annotation.

The record holds digests of what the last decision read. A change of replicas, requests, annotations
or taints always schedules again; a change of the policy, of the labels or kinds of clusters, and a
cluster that joins do so where the policy says so.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import msgspec

from stretto.api.types.federation.policies import PropagationPolicySpec, RescheduleWhen
from stretto.federation import names
from stretto.reconcile.cache import StoredObject

_STEERING: Final = (
    names.SCHEDULING_MODE, names.STICKY, names.CLUSTER_SELECTOR, names.AFFINITY, names.TOLERATIONS,
    names.MAX_CLUSTERS, names.PLACEMENTS, names.MIGRATION, names.FAILOVER,
)  # fmt: skip
"""Annotations whose change always schedules again."""


_FIXED: Final = ("schedulingAnnotationsHash", "replicaCount", "resourceRequest", "policyName")
_ALWAYS: Final = (*_FIXED, "autoMigrationInfo", "clusterTaintsHashes")
"""Members of a record whose change always schedules again."""
_DISABLED: Final = "disableRescheduling:true"
"""Reason of a policy that never schedules again."""


@dataclass(frozen=True, slots=True)
class TriggerInput:
    """What a decision reads."""

    #: Annotations of the federated object.
    annotations: Mapping[str, str]
    #: Replicas of the template.
    replicas: int
    #: Requests of one replica.
    request: Mapping[str, int]
    #: Name of the policy; empty without one.
    policy_name: str
    #: The policy; ``None`` without one.
    policy: PropagationPolicySpec | None
    #: The clusters that have joined.
    clusters: Iterable[StoredObject]


Record = dict[str, Any]
"""The decoded annotation."""


def record(found: TriggerInput) -> Record:
    """The record of an input."""
    clusters = sorted(found.clusters, key=lambda each: each.record.name)
    spec = found.policy
    content = msgspec.to_builtins(spec) if spec is not None else None
    if isinstance(content, dict):
        content.pop("autoMigration", None)
    migrates = spec is not None and spec.auto_migration is not None
    made: Record = {
        "schedulingAnnotationsHash": _hash(
            {key: found.annotations[key] for key in _STEERING if key in found.annotations}
        ),
        "replicaCount": found.replicas,
        "resourceRequest": dict(sorted(found.request.items())),
        "policyName": found.policy_name,
        "policyContentHash": _hash(content) if content is not None else "",
        "clusters": [each.record.name for each in clusters],
        "clusterLabelsHashes": _each(clusters, lambda each: each.metadata.get("labels")),
        "clusterTaintsHashes": _each(clusters, lambda each: each.spec.get("taints")),
        "clusterAPIResourceTypesHashes": _each(
            clusters, lambda each: each.status.get("apiResourceTypes")
        ),
    }
    if migrates:
        made["autoMigrationInfo"] = found.annotations.get(names.AUTO_MIGRATION, "")
    return made


def written(made: Record) -> str:
    """The annotation of a record."""
    return json.dumps(made, separators=(",", ":"))


def read(annotations: Mapping[str, str]) -> Record | None:
    """The record of an annotation; ``None`` if it is absent or malformed."""
    try:
        found = json.loads(annotations.get(names.TRIGGERS) or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class TriggerVerdict:
    """Whether to schedule again."""

    #: Whether something changed that schedules again.
    schedules: bool
    #: Reasons not to, for what changed; empty if nothing was deferred.
    deferred: str = ""


def compare(
    old: Record | None, new: Record, policy: PropagationPolicySpec | None, before: str = ""
) -> TriggerVerdict:
    """Whether the difference between two records schedules an object again.

    Args:
        old: the record of the last decision; ``None`` if there was none.
        new: the record now.
        policy: the policy; ``None`` without one.
        before: the reasons that the last comparison gave.
    """
    if old is None:
        return TriggerVerdict(schedules=True)
    always, optional = _always(old, new), _optional(old, new)
    rules = policy.reschedule_policy if policy is not None else None
    is_disabled = rules is not None and rules.disable_rescheduling
    if not always and not optional:
        stays = is_disabled and before == _DISABLED
        return TriggerVerdict(schedules=False, deferred=before if stays else "")
    if is_disabled:
        return TriggerVerdict(schedules=False, deferred=_DISABLED)
    if always:
        return TriggerVerdict(schedules=True)
    if rules is not None and rules.reschedule_when is None:
        return TriggerVerdict(schedules=False, deferred="rescheduleWhen:nil")
    when = rules.reschedule_when if rules is not None else RescheduleWhen()
    assert when is not None
    allowed = {
        "policyContentChanged": when.policy_content_changed,
        "clusterJoined": when.cluster_joined,
        "clusterLabelsChanged": when.cluster_labels_changed,
        "clusterAPIResourcesChanged": when.cluster_api_resources_changed,
    }
    if any(allowed[each] for each in optional):
        return TriggerVerdict(schedules=True)
    return TriggerVerdict(False, "; ".join(f"{each}:false" for each in optional))


def seen(old: Record | None, new: Record) -> Record:
    """The record after a deferral: it has seen what always schedules again, and nothing else."""
    kept: Record = {each: new[each] for each in _ALWAYS if each in new}
    return {**(old or {}), **kept}


def _always(old: Record, new: Record) -> bool:
    """Whether something changed that always schedules again."""
    if any(old.get(each) != new[each] for each in _FIXED):
        return True
    if "autoMigrationInfo" in new and old.get("autoMigrationInfo") != new["autoMigrationInfo"]:
        return True
    before, after = old.get("clusterTaintsHashes") or {}, new["clusterTaintsHashes"]
    return any(after.get(name) != digest for name, digest in before.items())


def _optional(old: Record, new: Record) -> list[str]:
    """Changes that schedule again only where the policy says so."""
    found = []
    if old.get("policyContentHash") != new["policyContentHash"]:
        found.append("policyContentChanged")
    if not set(new["clusters"]) <= set(old.get("clusters") or ()):
        found.append("clusterJoined")
    for name, field in (
        ("clusterLabelsChanged", "clusterLabelsHashes"),
        ("clusterAPIResourcesChanged", "clusterAPIResourceTypesHashes"),
    ):
        before = old.get(field) or {}
        if any(new[field].get(each, digest) != digest for each, digest in before.items()):
            found.append(name)
    return found


def _each(clusters: Iterable[StoredObject], part: Any) -> dict[str, str]:
    return {each.record.name: _hash(part(each)) for each in clusters}


def _hash(value: Any) -> str:
    """A digest of JSON, independent of the order of members."""
    text = msgspec.json.encode(value or None, order="deterministic")
    return str(crc32(text))
