"""Changes that reschedule a federated object, recorded in an annotation.

The record contains digests of the input of the last decision. A change of replicas, requests,
annotations or the name of the policy always reschedules the object; under a policy that disables
rescheduling, the decision keeps the placement. A change of the policy or of the labels, taints or
kinds of clusters, and a cluster that joins, reschedule it if the policy allows it; it always allows
changes of taints unless it disables rescheduling or allows nothing. The size of a record does not
depend on the number of clusters.
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
_TAINTS: Final = "clusterTaintsChanged"
"""Change of clusters that no policy names: it reschedules an object like the allowed changes."""
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
    #: Digest of their taints.
    taints: str = ""
    #: Digest of the kinds that they serve.
    kinds: str = ""


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
    #: Digest of the observations of the migration; empty if the policy has no migration rules, or
    #: there are no observations.
    migration: str = ""
    #: Clusters that a decision has read.
    seen: SeenClusters = SeenClusters()
    #: Taints in the records of earlier versions; not written.
    tainted: SeenClusters = SeenClusters()

    def always_differs(self, new: "TriggerRecord") -> bool:
        """True if the object itself changed in a way that requires rescheduling in any case."""
        mine = self.annotations, self.replicas, self.request, self.policy, self.migration
        return mine != (new.annotations, new.replicas, new.request, new.policy, new.migration)

    def optionally_differs(self, new: "TriggerRecord", clusters: FleetDigests) -> list[str]:
        """Changes that reschedule the object only if the policy allows it."""
        now, before = _seen(clusters, self.seen.until), self.seen
        found = {
            "policyContentChanged": self.content != new.content,
            "clusterLabelsChanged": now.labels != before.labels,
            _TAINTS: now.taints != before.taints,
            "clusterAPIResourcesChanged": now.kinds != before.kinds,
            "clusterJoined": clusters.last > before.until,
        }
        return [name for name, changed in found.items() if changed]


def content_of(policy: PropagationPolicySpec) -> str:
    """The digest of a policy, without its rules for migration."""
    return _short({**msgspec.to_builtins(policy), "autoMigration": None})


def record(found: TriggerInput) -> TriggerRecord:
    """The record of an input."""
    migrates = found.policy is not None and found.policy.auto_migration is not None
    steering = {key: found.annotations[key] for key in _STEERING if key in found.annotations}
    observed = found.annotations.get(names.AUTO_MIGRATION) if migrates else None
    return TriggerRecord(
        _short(steering),
        found.replicas,
        _short(found.request),
        _short(found.policy_name),
        found.content,
        _short(observed) if observed is not None else "",
        _seen(found.clusters, found.clusters.last),
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
        return _current(msgspec.json.decode(text, type=TriggerRecord))
    except msgspec.DecodeError:
        return None


def _current(found: TriggerRecord) -> TriggerRecord:
    """A record in the present form.

    Earlier versions recorded taints apart, and the digest of an empty text without observations.
    """
    seen, before = found.seen, found.tainted
    if not seen.taints and before.until == seen.until:
        seen = msgspec.structs.replace(seen, taints=before.taints)
    migration = "" if found.migration == _short("") else found.migration
    return msgspec.structs.replace(found, migration=migration, seen=seen, tainted=SeenClusters())


@dataclass(frozen=True, slots=True)
class TriggerVerdict:
    """Result of a comparison of two records."""

    #: True if a change reschedules the object.
    schedules: bool
    #: Reasons for deferring changes; empty if nothing was deferred. A decision that keeps the
    #: placement because of the policy has a reason, too.
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
    policy = found.policy
    rules = policy.reschedule_policy if policy is not None else None
    is_disabled = rules is not None and rules.disable_rescheduling
    if old.always_differs(new):
        is_kept = is_disabled and found.annotations.get(names.STICKY) != "false"
        # Observed pods are no request of the user, so a deferral of them needs no reason.
        has_reason = is_kept and old.migration == new.migration
        return TriggerVerdict(schedules=True, deferred=_DISABLED if has_reason else "")
    optional = old.optionally_differs(new, found.clusters)
    if not optional:
        stays = is_disabled and before == _DISABLED
        return TriggerVerdict(schedules=False, deferred=before if stays else "")
    if is_disabled:
        return TriggerVerdict(schedules=False, deferred=_DISABLED)
    if rules is not None and rules.reschedule_when is None:
        return TriggerVerdict(schedules=False, deferred="rescheduleWhen:nil")
    when = rules.reschedule_when if rules is not None else RescheduleWhen()
    assert when is not None
    allowed = {
        "policyContentChanged": when.policy_content_changed,
        "clusterLabelsChanged": when.cluster_labels_changed,
        _TAINTS: True,
        "clusterAPIResourcesChanged": when.cluster_api_resources_changed,
        "clusterJoined": when.cluster_joined,
    }
    if any(allowed[each] for each in optional):
        return TriggerVerdict(schedules=True)
    return TriggerVerdict(False, "; ".join(f"{each}:false" for each in optional))


def _seen(clusters: FleetDigests, until: str) -> SeenClusters:
    sums = clusters.until(until)
    return SeenClusters(until, *(f"{x:016x}" for x in (sums.labels, sums.taints, sums.kinds)))


def _short(value: Any) -> str:
    """A digest as 8 hexadecimal digits."""
    return f"{digest(value) >> 32:08x}"
