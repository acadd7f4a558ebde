"""The VerticalPodAutoscalerCheckpoints of a cluster: read at a start, written now and then."""

import logging
from typing import Any, Final

import msgspec

from stretto.api.types.capacity.vertical import VerticalCheckpoint
from stretto.api.wire.kinds import VERTICAL_CHECKPOINT, VERTICAL_POD_AUTOSCALER
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.capacity.vertical.checkpoints import checkpoint_of, restored_use, status_change
from stretto.capacity.vertical.history import VerticalConfig
from stretto.capacity.vertical.workload import WorkloadUse
from stretto.reconcile import writes
from stretto.reconcile.cache import StoreCache, StoredObject

_LOG: Final = logging.getLogger(__name__)
_BY_AUTOSCALER: Final = "autoscaler"


class CheckpointObjects:
    """Reader and writer of the checkpoints of a cluster."""

    def __init__(self, cache: StoreCache, clock: Clock, config: VerticalConfig) -> None:
        """Follow the checkpoints of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
            config: parameters of histories.
        """
        self._store = cache.store
        self._clock = clock
        self._config = config
        self._objects = cache.follow(VERTICAL_CHECKPOINT)
        self._objects.add_index(_BY_AUTOSCALER, _owner)

    def restore(self, item: StoredObject, use: WorkloadUse) -> None:
        """Continue the histories of an autoscaler; one without a usable checkpoint starts again."""
        for each in self._of(item):
            try:
                checkpoint = each.read(VerticalCheckpoint)
                name = "/".join(each.name)
                found = restored_use(checkpoint.status, self._config, name, self._clock.now())
            except InputError as error:
                _LOG.warning("the history of a container starts again: %s", error)
            else:
                use.restore(checkpoint.spec.container_name, found)

    def store(self, item: StoredObject, use: WorkloadUse) -> None:
        """Write the checkpoints of an autoscaler, and delete those of expired histories.

        Raises:
            RetryError: a write was refused.
        """
        now = self._clock.now()
        known = {str(each.spec.get("containerName")): each for each in self._of(item)}
        for container, history in use.uses.items():
            status = checkpoint_of(history, use.windows(container, now), now)
            fields = msgspec.json.decode(msgspec.json.encode(status))
            old = known.pop(container, None)
            if old is None:
                created = _checkpoint(item, container, fields)
                writes.create(self._store, VERTICAL_CHECKPOINT, created)
            else:
                writes.patch_status(self._store, old, status_change(old.status, fields))
        for each in known.values():
            writes.delete(self._store, each)

    def _of(self, item: StoredObject) -> list[StoredObject]:
        """Return the checkpoints of an autoscaler."""
        found = self._objects.indexed(_BY_AUTOSCALER, "/".join(item.name))
        return [each for each in found if not each.is_terminating]


def _owner(checkpoint: StoredObject) -> tuple[str, ...]:
    """Key of the index by autoscaler."""
    name = checkpoint.spec.get("vpaObjectName")
    return (f"{checkpoint.record.namespace}/{name}",) if isinstance(name, str) else ()


def _checkpoint(item: StoredObject, container: str, status: dict[str, Any]) -> dict[str, Any]:
    """Return a new checkpoint, which the garbage collector deletes with its autoscaler."""
    namespace, name = item.name
    kind = VERTICAL_POD_AUTOSCALER
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}
    return {
        "apiVersion": VERTICAL_CHECKPOINT.api_version,
        "kind": VERTICAL_CHECKPOINT.kind,
        "metadata": {
            "name": f"{name}-{container}",
            "namespace": namespace,
            "ownerReferences": [{**owner, "uid": item.record.uid}],
        },
        "spec": {"vpaObjectName": name, "containerName": container},
        "status": status,
    }
