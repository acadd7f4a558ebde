"""A member's Deployment as input of the rollout planner, and its specification as fields.

An annotation of the Deployment contains the written specification and the previous one, so that a
restarted controller can determine which one is in effect. The Deployment controller copies the
annotation to the ReplicaSet of the template, which thus names its revision.
"""

from collections.abc import Iterable, Mapping

import msgspec

from stretto.federation import names
from stretto.federation.objects.members.versions import digest
from stretto.federation.planner.rollout.member import MemberSpec, PodCount, RolloutMember
from stretto.reconcile.cache import Fields, StoredObject

_LENGTH = 10
_HASH = "pod-template-hash"
_NUMBER = "deployment.kubernetes.io/revision"
_FAILED = ("Progressing", "False")


class WrittenSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """The annotation ``stretto.dev/member-rollout`` of a member's Deployment."""

    #: The written specification.
    spec: MemberSpec
    #: The previous specification; it is in effect until the member observes the written one.
    before: MemberSpec | None = None


def revision_of(template: Fields) -> str:
    """The revision of a source: a digest of its pod template."""
    return digest((template.get("spec") or {}).get("template"))[:_LENGTH]


def written_spec(present: StoredObject, revision: str, is_equal: bool) -> WrittenSpec:
    """The specification of a member's Deployment.

    Args:
        present: the Deployment.
        revision: the revision of the source.
        is_equal: true if the pod template is that of the source; used only without the annotation.
    """
    found = _noted(present.annotations)
    if found is not None:
        return found
    replicas = int(present.spec.get("replicas", 1))
    own = revision if is_equal else digest(present.spec.get("template"))[:_LENGTH]
    return WrittenSpec(MemberSpec(replicas, own))


def sent_spec(sent: Fields) -> MemberSpec:
    """The specification in a Deployment that was sent to a member."""
    found = _noted(sent["metadata"].get("annotations") or {})
    if found is not None:
        return found.spec
    template = sent["spec"].get("template")
    return MemberSpec(int(sent["spec"].get("replicas", 1)), digest(template)[:_LENGTH])


def _noted(annotations: Mapping[str, str]) -> WrittenSpec | None:
    """The annotation with the written specification; ``None`` without a valid one."""
    text = annotations.get(names.MEMBER_ROLLOUT)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text.encode(), type=WrittenSpec)
    except (msgspec.DecodeError, ValueError):
        return None


def read_member(
    cluster: str,
    present: StoredObject,
    sets: Iterable[StoredObject],
    written: WrittenSpec,
) -> RolloutMember:
    """A member's Deployment; the written replicas are its desired ones until a caller sets others.

    Args:
        cluster: the cluster.
        present: the Deployment.
        sets: its ReplicaSets.
        written: its specification.
    """
    status = present.status
    observed = status.get("observedGeneration", 0) >= present.metadata.get("generation", 1)
    acting = written.spec if observed or written.before is None else written.before
    failed = any(
        (each.get("type"), each.get("status")) == _FAILED for each in status.get("conditions") or ()
    )
    pods = _pods(present, sets, acting.revision)
    return RolloutMember(
        cluster, written.spec.replicas, written.spec, acting, pods, healthy=not failed
    )


def with_spec(
    wanted: Fields, spec: MemberSpec, before: MemberSpec | None, pods: Fields | None
) -> Fields:
    """The object of a member with a specification.

    Args:
        wanted: the object of the source and the overrides.
        spec: the specification.
        before: the specification in effect; ``None`` for a new object.
        pods: pod template of another revision; ``None`` for the template of ``wanted``.
    """
    fields = dict(wanted["spec"])
    fields["replicas"] = spec.replicas
    if spec.max_surge or spec.max_unavailable:
        limits = {"maxSurge": spec.max_surge, "maxUnavailable": spec.max_unavailable}
        fields["strategy"] = {"type": "RollingUpdate", "rollingUpdate": limits}
    if spec.paused:
        fields["paused"] = True
    if pods is not None:
        fields["template"] = pods
    note = msgspec.json.encode(WrittenSpec(spec, before)).decode()
    metadata = wanted["metadata"]
    notes = {**(metadata.get("annotations") or {}), names.MEMBER_ROLLOUT: note}
    return {**wanted, "metadata": {**metadata, "annotations": notes}, "spec": fields}


def template_of(
    revision: str, present: StoredObject, sets: Iterable[StoredObject], written: WrittenSpec
) -> Fields | None:
    """The pod template of a revision in a member; ``None`` if the member does not have it."""
    if written.spec.revision == revision:
        found: Fields = present.spec["template"]
        return found
    for each in sets:
        if _revision(each) == revision:
            return _without_hash(each.spec["template"])
    return None


def is_contained(wanted: object, present: object) -> bool:
    """True if the present value contains all desired fields; servers add defaults."""
    if isinstance(wanted, dict) and isinstance(present, dict):
        return all(is_contained(value, present.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(present, list):
        same = len(wanted) == len(present)
        return same and all(map(is_contained, wanted, present))
    return wanted == present or (not wanted and present is None)


def _pods(
    present: StoredObject, sets: Iterable[StoredObject], current: str
) -> Mapping[str, PodCount]:
    """Pods by revision; a ReplicaSet without a revision annotation has its own revision."""
    found: dict[str, PodCount] = {}
    number = present.annotations.get(_NUMBER)
    for each in sets:
        # Pods that the ReplicaSet is about to create or delete count as well.
        size = int(each.spec.get("replicas", 1))
        total = max(size, int(each.status.get("replicas") or 0))
        usable = min(size, int(each.status.get("availableReplicas") or 0))
        is_current = number is not None and each.annotations.get(_NUMBER) == number
        revision = _revision(each) or (current if is_current else each.record.name)
        if total:
            before = found.get(revision, PodCount(0, 0))
            found[revision] = PodCount(before.total + total, before.available + usable)
    return found


def _revision(replica_set: StoredObject) -> str:
    """The revision that the annotation of a ReplicaSet names; empty if there is none."""
    text = replica_set.annotations.get(names.MEMBER_ROLLOUT)
    try:
        return msgspec.json.decode((text or "").encode(), type=WrittenSpec).spec.revision
    except (msgspec.DecodeError, ValueError):
        return ""


def _without_hash(template: Fields) -> Fields:
    """A pod template without the label of its ReplicaSet."""
    metadata = dict(template.get("metadata") or {})
    labels = {key: x for key, x in (metadata.get("labels") or {}).items() if key != _HASH}
    metadata = {key: x for key, x in metadata.items() if key != "labels"}
    if labels:
        metadata["labels"] = labels
    rest = {key: value for key, value in template.items() if key != "metadata"}
    return {**rest, "metadata": metadata} if metadata else rest
