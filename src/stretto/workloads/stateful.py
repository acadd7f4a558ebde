"""StatefulSets: pods with ordinals, created and replaced in order."""

from collections.abc import Hashable, Iterable

from stretto.api.wire.generated_names import hash_label
from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, POD, STATEFUL_SET
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.cluster import LocalCluster, is_active, ready_since
from stretto.workloads.pods import pod_of

_REVISION = "controller-revision-hash"


class StatefulSetController:
    """From StatefulSets to pods."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the StatefulSets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/statefulsets"
        self._cluster = cluster

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The StatefulSet, also that of a pod."""
        return self._cluster.keys(change, STATEFUL_SET)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """One step of one StatefulSet: the next pod to create, delete or replace."""
        assert isinstance(key, tuple)
        item = self._cluster.objects(STATEFUL_SET).get(*key)
        if item is None or item.is_terminating:
            return None
        pods = {pod.record.name: pod for pod in self._cluster.owned(POD, item)}
        revision = f"{item.record.name}-{hash_label(item.spec['template'], item.record.name)}"
        self._step(item, pods, revision)
        self._count(item, list(pods.values()), revision)
        return None

    def _step(self, item: StoredObject, pods: dict[str, StoredObject], revision: str) -> None:
        """Create missing pods, remove pods beyond the size, replace those of old revisions."""
        spec = item.spec
        first = int((spec.get("ordinals") or {}).get("start", 0))
        wanted = [
            f"{item.record.name}-{number}"
            for number in range(first, first + int(spec.get("replicas", 1)))
        ]
        parallel = spec.get("podManagementPolicy") == "Parallel"
        for name in wanted:
            pod = pods.get(name)
            if pod is None:
                self._create(item, name, revision)
            elif not is_active(pod):
                self._cluster.delete([pod])
            if not parallel and (pod is None or ready_since(pod) is None):
                return
        beyond = sorted(pods.keys() - set(wanted), key=_ordinal, reverse=True)
        self._cluster.delete(pods[name] for name in (beyond if parallel else beyond[:1]))
        if not beyond and (spec.get("updateStrategy") or {}).get("type") != "OnDelete":
            self._replace_one(item, [pods[name] for name in wanted if name in pods], revision)

    def _replace_one(self, item: StoredObject, pods: list[StoredObject], revision: str) -> None:
        """Delete the last pod of an old revision, if all later ones are ready."""
        rolling = (item.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        lowest = int(rolling.get("partition") or 0)
        for pod in reversed(pods):
            if _ordinal(pod.record.name) < lowest:
                return
            if pod.labels.get(_REVISION) != revision:
                self._cluster.delete([pod])
                return
            if ready_since(pod) is None:
                return

    def _create(self, item: StoredObject, name: str, revision: str) -> None:
        """Create one pod, and its PVCs."""
        template = item.spec["template"]
        spec = {**template["spec"], "hostname": name, "subdomain": item.spec.get("serviceName", "")}
        claims = item.spec.get("volumeClaimTemplates") or ()
        own = [_claim_name(claim, name) for claim in claims]
        for claim, claim_name in zip(claims, own, strict=True):
            metadata = {**claim["metadata"], "name": claim_name}
            metadata["namespace"] = item.record.namespace
            self._cluster.create(PERSISTENT_VOLUME_CLAIM, {**claim, "metadata": metadata})
        if own:
            made = [_volume(claim, given) for claim, given in zip(claims, own, strict=True)]
            names = {each["name"] for each in made}
            kept = [each for each in spec.get("volumes") or () if each["name"] not in names]
            spec["volumes"] = [*made, *kept]
        labels = {
            _REVISION: revision,
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": name.rpartition("-")[2],
        }
        made_pod = pod_of(item, {**template, "spec": spec}, name=name, labels=labels)
        self._cluster.create(POD, made_pod)

    def _count(self, item: StoredObject, pods: list[StoredObject], revision: str) -> None:
        """Write the status."""
        active = [pod for pod in pods if is_active(pod)]
        ready = [pod for pod in active if ready_since(pod) is not None]
        updated = [pod for pod in active if pod.labels.get(_REVISION) == revision]
        complete = len(updated) == len(active)
        current = revision if complete else item.status.get("currentRevision", revision)
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "replicas": len(active),
            "readyReplicas": len(ready) or None,
            "availableReplicas": len(ready),
            "currentReplicas": (len(updated) if complete else len(active) - len(updated)) or None,
            "updatedReplicas": len(updated) or None,
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        self._cluster.set_status(item, status)


def _ordinal(name: str) -> int:
    return int(name.rpartition("-")[2])


def _claim_name(claim: Fields, pod: str) -> str:
    return f"{claim['metadata']['name']}-{pod}"


def _volume(claim: Fields, claim_name: str) -> Fields:
    return {
        "name": claim["metadata"]["name"],
        "persistentVolumeClaim": {"claimName": claim_name},
    }
