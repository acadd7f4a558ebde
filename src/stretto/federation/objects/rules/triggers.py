"""Changes that reschedule a federated object, recorded in an annotation.

The record contains digests of the input of the last decision. A change of replicas, requests,
annotations or taints always reschedules the object. A change of the policy or of the labels or
kinds of clusters, and a cluster that joins, reschedule it if the policy allows it. The size of a
record does not depend on the number of clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.types.federation.policies import PropagationPolicySpec, RescheduleWhen
from stretto.federation import names
from stretto.federation.objects.rules.digests import NEVER, FleetDigests, digest

_STEERING: Final = (
    names.SCHEDULING_MODE, names.STICKY, names.CLUSTER_SELECTOR, names.AFFINITY, names.TOLERATIONS,
    names.MAX_CLUSTERS, names.PLACEMENTS, names.MIGRATION, names.FAILOVER,
)  # fmt: skip
"""Annotations whose change always reschedules an object."""
_DISABLED: Final = "disableRescheduling:true"
"""Reason for a deferral by a policy that disables rescheduling."""


@dataclass(frozen=True, slots=True)
class TriggerInput:
    """Input of a decision."""

    #: Annotations of the federated object.
    annotations: Mapping[str, str]
    #: Replicas of the template.
    replicas: int
    #: Requests of one replica.
    request: Mapping[str, int]
    #: Name of the policy; empty if there is none.
    policy_name: str
    #: The policy; ``None`` if there is none.
    policy: PropagationPolicySpec | None
    #: Digest of the policy by ``content_of``; empty if there is none.
    content: str
    #: The clusters that have joined.
    clusters: FleetDigests


class SeenClusters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Clusters that had joined before a decision, as the decision read them."""

    #: Time at which the last of them joined, in RFC 3339.
    until: str = NEVER
    #: Digest of their labels.
    labels: str = ""
    #: Digest of the kinds that they serve.
    kinds: str = ""


class SeenTaints(msgspec.Struct, frozen=True, omit_defaults=True):
    """Taints of the clusters before a decision; they count even if it defers other changes."""

    #: Time at which the last cluster joined, in RFC 3339.
    until: str = NEVER
    #: Digest of the taints.
    taints: str = ""


class TriggerRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The decoded annotation; digests are hexadecimal."""

    #: Digest of the annotations that configure scheduling.
    annotations: str
    #: Replicas of the template.
    replicas: int
    #: Digest of the requests of one replica.
    request: str
    #: Digest of the name of the policy.
    policy: str
    #: Digest of the policy without its rules for migration; empty if there is none.
    content: str = ""
    #: Digest of the observations of the migration; empty if the policy has no migration rules.
    migration: str = ""
    #: Clusters whose joining, labels and kinds a decision has read.
    seen: SeenClusters = SeenClusters()
    #: Clusters whose taints a decision has read.
    tainted: SeenTaints = SeenTaints()

    def always_differs(self, new: "TriggerRecord", clusters: FleetDigests) -> bool:
        """True if a change requires rescheduling in any case."""
        mine = self.annotations, self.replicas, self.request, self.policy
        if mine != (new.annotations, new.replicas, new.request, new.policy):
            return True
        if new.migration and new.migration != self.migration:
            return True
        return self.tainted != _tainted(clusters, self.tainted.until)

    def optionally_differs(self, new: "TriggerRecord", clusters: FleetDigests) -> list[str]:
        """Changes that reschedule the object only if the policy allows it."""
        now, before = _seen(clusters, self.seen.until), self.seen
        found = {
            "policyContentChanged": self.content != new.content,
            "clusterJoined": clusters.last > before.until,
            "clusterLabelsChanged": now.labels != before.labels,
            "clusterAPIResourcesChanged": now.kinds != before.kinds,
        }
        return [name for name, changed in found.items() if changed]


def content_of(policy: PropagationPolicySpec) -> str:
    """The digest of a policy, without its rules for migration."""
    return _short({**msgspec.to_builtins(policy), "autoMigration": None})


def record(found: TriggerInput) -> TriggerRecord:
    """The record of an input."""
    migrates = found.policy is not None and found.policy.auto_migration is not None
    steering = {key: found.annotations[key] for key in _STEERING if key in found.annotations}
    observed = found.annotations.get(names.AUTO_MIGRATION, "")
    last = found.clusters.last
    return TriggerRecord(
        _short(steering),
        found.replicas,
        _short(found.request),
        _short(found.policy_name),
        found.content,
        _short(observed) if migrates else "",
        _seen(found.clusters, last),
        _tainted(found.clusters, last),
    )


def written(made: TriggerRecord) -> str:
    """The annotation of a record."""
    return msgspec.json.encode(made).decode()


def read(annotations: Mapping[str, str]) -> TriggerRecord | None:
    """The record of an annotation; ``None`` if it is absent or malformed."""
    text = annotations.get(names.TRIGGERS)
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=TriggerRecord)
    except msgspec.DecodeError:
        return None


@dataclass(frozen=True, slots=True)
class TriggerVerdict:
    """Result of a comparison of two records."""

    #: True if a change reschedules the object.
    schedules: bool
    #: Reasons for deferring changes; empty if nothing was deferred.
    deferred: str = ""


def compare(
    old: TriggerRecord | None, new: TriggerRecord, found: TriggerInput, before: str = ""
) -> TriggerVerdict:
    """Compare the input of a decision with its record; the verdict lists deferred changes.

    Args:
        old: the record of the last decision; ``None`` if there is none.
        new: the record of ``found``.
        found: the present input.
        before: the reasons of the last comparison.
    """
    if old is None:
        return TriggerVerdict(schedules=True)
    always = old.always_differs(new, found.clusters)
    optional = old.optionally_differs(new, found.clusters)
    policy = found.policy
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


def after_deferral(old: TriggerRecord | None, new: TriggerRecord) -> TriggerRecord:
    """The old record, updated only for changes that reschedule in any case."""
    if old is None:
        return new
    return msgspec.structs.replace(new, content=old.content, seen=old.seen)


def _seen(clusters: FleetDigests, until: str) -> SeenClusters:
    sums = clusters.until(until)
    return SeenClusters(until, f"{sums.labels:016x}", f"{sums.kinds:016x}")


def _tainted(clusters: FleetDigests, until: str) -> SeenTaints:
    return SeenTaints(until, f"{clusters.until(until).taints:016x}")


def _short(value: Any) -> str:
    """A digest as 8 hexadecimal digits."""
    return f"{digest(value) >> 32:08x}"
