"""The pods of a StatefulSet by ordinal."""

from dataclasses import dataclass
from typing import Final

from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.pods import pod_of
from stretto.workloads.revisions import POD_REVISION, RevisionHistory, template_of
from stretto.workloads.stateful.claims import claim_names

_NAME: Final = "statefulset.kubernetes.io/pod-name"
_INDEX: Final = "apps.kubernetes.io/pod-index"


def ordinal_of(item: StoredObject, pod: str) -> int | None:
    """The ordinal of a pod, from its name; ``None`` if the name does not match the StatefulSet."""
    prefix, _, number = pod.rpartition("-")
    return int(number) if prefix == item.record.name and number.isdecimal() else None


def ordinals(item: StoredObject) -> range:
    """The ordinals of the desired pods."""
    first = int((item.spec.get("ordinals") or {}).get("start", 0))
    return range(first, first + int(item.spec.get("replicas", 1)))


@dataclass(frozen=True, slots=True)
class Members:
    """A StatefulSet, its pods and its revisions."""

    #: The StatefulSet.
    item: StoredObject
    #: Pods by ordinal.
    pods: dict[int, StoredObject]
    #: All revisions; ``current`` is the target of the update.
    history: RevisionHistory

    @property
    def update(self) -> StoredObject:
        """The target revision of the update."""
        return self.history.current

    @property
    def before(self) -> StoredObject:
        """The revision of the pods that are not updated yet."""
        return self.history.find(self.item.status.get("currentRevision", "")) or self.update

    @property
    def is_parallel(self) -> bool:
        """Return whether pods are created and deleted in parallel."""
        return bool(self.item.spec.get("podManagementPolicy") == "Parallel")

    @property
    def is_rolling(self) -> bool:
        """Return whether outdated pods are replaced."""
        return bool(self._strategy.get("type", "RollingUpdate") == "RollingUpdate")

    @property
    def partition(self) -> int:
        """The ordinal below which pods keep their revision."""
        return int((self._strategy.get("rollingUpdate") or {}).get("partition") or 0)

    @property
    def _strategy(self) -> Fields:
        found: Fields = self.item.spec.get("updateStrategy") or {}
        return found

    def beyond(self) -> list[int]:
        """Ordinals of surplus pods, the greatest first."""
        wanted = ordinals(self.item)
        return sorted((each for each in self.pods if each not in wanted), reverse=True)

    def new_pod(self, ordinal: int) -> Fields:
        """A new pod; below the partition it has the template of the previous revision."""
        stays = self.is_rolling and ordinal < ordinals(self.item).start + self.partition
        revision = self.before if stays else self.update
        template, name = template_of(revision), f"{self.item.record.name}-{ordinal}"
        subdomain = self.item.spec.get("serviceName", "")
        spec = {**template["spec"], "hostname": name, "subdomain": subdomain}
        own = claim_names(self.item, ordinal)
        if own:
            kept = [each for each in spec.get("volumes") or () if each["name"] not in own]
            made = [
                {"name": volume, "persistentVolumeClaim": {"claimName": claim}}
                for volume, claim in own.items()
            ]
            spec["volumes"] = [*made, *kept]
        labels = {POD_REVISION: revision.record.name, _NAME: name, _INDEX: str(ordinal)}
        names = {"name": name, "generateName": f"{self.item.record.name}-"}
        return pod_of(self.item, {**template, "spec": spec}, **names, labels=labels)
