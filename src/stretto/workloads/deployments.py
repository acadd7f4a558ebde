"""Deployments: ReplicaSets by template, replaced by rolling updates."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from stretto.api.schema.hashes.digest import template_hash
from stretto.api.wire.kinds import DEPLOYMENT, REPLICA_SET
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.reconcile.events import EventLevel, EventText
from stretto.workloads.adoption import Claims
from stretto.workloads.bounds import proportional, resolved
from stretto.workloads.cluster import DEPLOYMENTS, LocalCluster, owned_metadata, owner_of
from stretto.workloads.revisions import count_collision
from stretto.workloads.rollouts import COUNTS, FAILURE, Rollout, conditions, with_created

_HASH = "pod-template-hash"
_OWN = "deployment.kubernetes.io/"
_REVISION = f"{_OWN}revision"
_HISTORY = f"{_OWN}revision-history"
_WANTED = f"{_OWN}desired-replicas"
_MOST = f"{_OWN}max-replicas"
_NOT_COPIED = (_OWN, "kubectl.kubernetes.io/last-applied-configuration")


@dataclass(frozen=True, slots=True)
class UpdateWindow:
    """Bounds of a rolling update."""

    #: Maximum number of pods above the desired number.
    surge: int
    #: Maximum number of unavailable pods below the desired number.
    unavailable: int


def update_window(spec: Fields, replicas: int) -> UpdateWindow:
    """The bounds of a Deployment; as in Kubernetes, at least one of them is not 0."""
    rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    surge = resolved(rolling.get("maxSurge", "25%"), replicas, math.ceil)
    unavailable = resolved(rolling.get("maxUnavailable", "25%"), replicas, math.floor)
    return UpdateWindow(surge, unavailable if surge or unavailable else 1)


class DeploymentController:
    """Controller that creates and scales the ReplicaSets of Deployments."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the Deployments of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/deployments"
        self._cluster = cluster
        self._claims = Claims(cluster, REPLICA_SET)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed Deployment, that of a changed ReplicaSet, and those that may adopt one."""
        return self._claims.affected(change, DEPLOYMENT)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Scale the ReplicaSets of one Deployment."""
        item = self._cluster.objects(DEPLOYMENT).active(key)
        if item is None:
            return None
        sets = self._claims.claimed(item, lambda each: not each.is_terminating)
        sets.sort(key=lambda each: (each.record.created, each.record.name))
        wanted = _unlabelled(item.spec["template"])
        current = next((x for x in sets if _unlabelled(x.spec["template"]) == wanted), None)
        is_paused = bool(item.spec.get("paused"))
        if current is None and not is_paused:
            self._create(item, sets)
            return None
        old = [each for each in sets if each is not current]
        if current is None or is_paused or _is_resized(item, sets):
            self._scale_all(item, current, old)
        else:
            self._resize(item, current, old)
        if current is not None:
            self._note_revision(item, current, old)
        self._count(item, current, sets)
        self._clean(item, old)
        return self._deadline(item)

    # ---------------------------------------------------------------- sets

    def _create(self, item: StoredObject, sets: list[StoredObject]) -> None:
        """Create the ReplicaSet of the template.

        It starts with 0 pods if older ReplicaSets exist. A name that another ReplicaSet has raises
        ``collisionCount`` instead, as in Kubernetes.
        """
        template = item.spec["template"]
        digest = template_hash(template, item.status.get("collisionCount"))
        name = f"{item.record.name}-{digest}"
        if self._cluster.objects(REPLICA_SET).get(item.record.namespace, name) is not None:
            count_collision(self._cluster, item)
            return
        given = template.get("metadata") or {}
        labels = {**(given.get("labels") or {}), _HASH: digest}
        revision = 1 + max((_revision(each) for each in sets), default=0)
        fields: Fields = {
            "metadata": owned_metadata(
                item,
                name=name,
                labels=labels,
                annotations={**_copied(item), **_sizes(item), _REVISION: str(revision)},
            ),
            "spec": {
                "replicas": 0 if sets else int(item.spec.get("replicas", 1)),
                "minReadySeconds": item.spec.get("minReadySeconds", 0),
                "selector": {"matchLabels": labels},
                "template": {**template, "metadata": {**given, "labels": labels}},
            },
        }
        self._cluster.create(REPLICA_SET, fields)
        now = self._cluster.now_text()
        self._cluster.set_status(item, {"conditions": with_created(item, name, now)})
        if fields["spec"]["replicas"]:
            self._note_size(item, name, 0, fields["spec"]["replicas"])

    def _resize(self, item: StoredObject, current: StoredObject, old: list[StoredObject]) -> None:
        """Change the sizes of ReplicaSets within the bounds of the update."""
        wanted = int(item.spec.get("replicas", 1))
        alive = [each for each in old if _size(each) or _count_of(each, "replicas")]
        if not alive:
            self._scale(current, wanted)
        elif _recreates(item):
            for each in alive:
                self._scale(each, 0)
            self._scale(current, _size(current))
        else:
            self._roll(wanted, update_window(item.spec, wanted), current, alive)

    def _roll(
        self, wanted: int, window: UpdateWindow, current: StoredObject, old: list[StoredObject]
    ) -> None:
        """Run one step of a rolling update: scale the current set up, then the older sets down."""
        total = _size(current) + sum(map(_size, old))
        allowed = wanted + window.surge
        if _size(current) > wanted:
            self._scale(current, wanted)
        elif total < allowed:
            self._scale(current, min(wanted, _size(current) + allowed - total))
        # A status may still count pods that a set is about to delete.
        usable = {each.record.name: _usable(each) for each in [current, *old]}
        least = wanted - window.unavailable
        starting = _size(current) - usable[current.record.name]
        most = total - least - starting
        spare = sum(usable.values()) - least
        for each in old:
            broken = max(0, min(_size(each) - usable[each.record.name], most))
            removed = max(0, min(usable[each.record.name], spare, most - broken))
            most, spare = most - broken - removed, spare - removed
            self._scale(each, _size(each) - broken - removed)

    def _scale_all(
        self, item: StoredObject, current: StoredObject | None, old: list[StoredObject]
    ) -> None:
        """Scale a Deployment that is paused, or whose replicas have changed.

        The sets keep their shares, so that a broken update does not get more pods than before. A
        paused Deployment has no current set after a change of its template.
        """
        wanted = int(item.spec.get("replicas", 1))
        sets = old if current is None else [*old, current]
        active = [each for each in sets if _size(each)]
        if len(active) <= 1:
            for each in active or sets[-1:]:
                self._scale(each, wanted)
        elif current is not None and _usable(current) == _size(current) == wanted:
            for each in old:
                self._scale(each, 0)
        elif not _recreates(item):
            most = wanted + update_window(item.spec, wanted).surge if wanted else 0
            shares = [(each, _size(each), _number(each, _MOST)) for each in active]
            for each, size in proportional(shares, most, _count_of(item, "replicas")):
                self._scale(each, size)

    def _scale(self, item: StoredObject, replicas: int) -> None:
        """Change the size of a ReplicaSet, and record the size of its Deployment."""
        owner = owner_of(item)
        name = item.record.namespace, owner["name"] if owner else ""
        deployment = self._cluster.objects(DEPLOYMENT).get(*name)
        notes = {} if deployment is None else _sizes(deployment)
        change: Fields = {}
        if any(item.annotations.get(key) != value for key, value in notes.items()):
            change["metadata"] = {"annotations": notes}
        if _size(item) != replicas:
            change["spec"] = {"replicas": replicas}
            if deployment is not None:
                self._note_size(deployment, item.record.name, _size(item), replicas)
        if change:
            self._cluster.patch(item, change)

    def _note_size(self, item: StoredObject, name: str, before: int, after: int) -> None:
        """Write the event about the new size of a ReplicaSet."""
        word = "up" if after > before else "down"
        text = f"Scaled {word} replica set {name} from {before} to {after}"
        event = EventText(EventLevel.NORMAL, "ScalingReplicaSet", text)
        self._cluster.note(DEPLOYMENTS, item, event)

    # ---------------------------------------------------------------- status

    def _note_revision(
        self, item: StoredObject, current: StoredObject, old: list[StoredObject]
    ) -> None:
        """Set the greatest revision and the annotations on the ReplicaSet of the template."""
        notes = {**_copied(item), **_sizes(item)}
        before = _revision(current)
        revision = max(before, 1 + max(map(_revision, old), default=0))
        if revision > before:
            history = current.annotations.get(_HISTORY, "").split(",")
            if before:
                notes[_HISTORY] = ",".join([*filter(None, history), str(before)])
            notes[_REVISION] = str(revision)
        changed = {key: x for key, x in notes.items() if current.annotations.get(key) != x}
        if changed:
            self._cluster.patch(current, {"metadata": {"annotations": changed}})
        if item.annotations.get(_REVISION) != str(revision):
            self._cluster.annotate(item, {_REVISION: str(revision)})

    def _deadline(self, item: StoredObject) -> float | None:
        """Seconds until the update may time out; ``None`` if it is complete."""
        seconds = item.spec.get("progressDeadlineSeconds")
        wanted = int(item.spec.get("replicas", 1))
        counts = {_count_of(item, key) for key in ("replicas", *COUNTS)}
        if seconds is None or counts == {wanted}:
            return None
        return float(seconds) + 1.0

    def _clean(self, item: StoredObject, old: list[StoredObject]) -> None:
        """Delete the oldest ReplicaSets without pods beyond the limit of the history."""
        limit = int(item.spec.get("revisionHistoryLimit", 10))
        empty = [each for each in old if not (_size(each) or _count_of(each, "replicas"))]
        excess = len(old) - limit
        if excess > 0:
            self._cluster.delete(sorted(empty, key=_revision)[:excess])

    def _count(
        self, item: StoredObject, current: StoredObject | None, sets: list[StoredObject]
    ) -> None:
        """Write the status."""
        updated = 0 if current is None else _count_of(current, "replicas")
        total = sum(_count_of(each, "replicas") for each in sets)
        usable = sum(_count_of(each, "availableReplicas") for each in sets)
        ready = sum(_count_of(each, "readyReplicas") for each in sets)
        wanted = int(item.spec.get("replicas", 1))
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "replicas": total or None,
            "updatedReplicas": updated or None,
            "readyReplicas": ready or None,
            "availableReplicas": usable or None,
            "terminatingReplicas": sum(_count_of(each, "terminatingReplicas") for each in sets),
            "unavailableReplicas": max(0, sum(map(_size, sets)) - usable) or None,
        }
        least = wanted - update_window(item.spec, wanted).unavailable
        now = self._cluster.now_text()
        first = [] if current is None else [current]
        failures = (
            condition_of(each.status.get("conditions") or (), FAILURE) for each in [*first, *sets]
        )
        failure = next(filter(None, failures), None)
        name = "" if current is None else current.record.name
        rollout = Rollout(item, status, name, least, failure, now)
        status["conditions"] = conditions(rollout)
        self._cluster.set_status(item, status)


def _copied(item: StoredObject) -> dict[str, str]:
    """Annotations of a Deployment that are copied to its ReplicaSet."""
    return {
        key: value for key, value in item.annotations.items() if not key.startswith(_NOT_COPIED)
    }


def _sizes(item: StoredObject) -> dict[str, str]:
    """The annotations of a ReplicaSet that contain the size of its Deployment."""
    wanted = int(item.spec.get("replicas", 1))
    surge = 0 if _recreates(item) else update_window(item.spec, wanted).surge
    return {_WANTED: str(wanted), _MOST: str(wanted + surge)}


def _recreates(item: StoredObject) -> bool:
    """Return whether a Deployment deletes all pods before it creates new ones."""
    return bool((item.spec.get("strategy") or {}).get("type") == "Recreate")


def _is_resized(item: StoredObject, sets: list[StoredObject]) -> bool:
    """Return whether the replicas of a Deployment have changed since its sets were scaled."""
    wanted = int(item.spec.get("replicas", 1))
    stated = [_number(each, _WANTED) for each in sets if _size(each)]
    return any(each not in (None, wanted) for each in stated)


def _unlabelled(template: Fields) -> Fields:
    """A pod template without the label of its hash."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != _HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _number(item: StoredObject, annotation: str) -> int | None:
    """The number in an annotation; ``None`` without the annotation."""
    text = item.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else None


def _revision(item: StoredObject) -> int:
    return _number(item, _REVISION) or 0


def _size(item: StoredObject) -> int:
    """Desired replicas of a ReplicaSet."""
    return int(item.spec.get("replicas", 1))


def _usable(item: StoredObject) -> int:
    """Number of available pods of a ReplicaSet, at most its desired replicas."""
    return min(_size(item), _count_of(item, "availableReplicas"))


def _count_of(item: StoredObject, field: str) -> int:
    """A number in a status; 0 if it is absent."""
    return int(item.status.get(field) or 0)
