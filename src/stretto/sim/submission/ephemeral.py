"""PVCs of ephemeral volumes, created for new pods as by the controller of Kubernetes."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from stretto.api.admission.pvcs import ephemeral_pvcs
from stretto.api.admission.request import ForbiddenError, JsonObject
from stretto.api.codec import parse_object
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from stretto.inputs.objects.volume_bindings import VolumeTable, volume_binding
from stretto.sim.submission.admission import StoreAdmission, StoredObjects
from stretto.stores.store import Patch, Record, Replies, Store, WriteOutcome

_MARK: Final = b'"ephemeral"'


def create_ephemeral_pvcs(store: Store, replies: Replies) -> None:
    """Create the PVCs of new pods, owned by them; existing PVCs stay.

    A PVC that admission forbids is not created: its pod stays pending and refers to it.

    Args:
        store: the store of the pods.
        replies: its replies to the creation of pods.
    """
    records = (each.record for each in replies if each.outcome is WriteOutcome.OK)
    admission, view = StoreAdmission(store), StoredObjects(store)
    volumes: VolumeTable | None = None
    for pvc in _pvcs(each for each in records if each is not None and _MARK in each.body):
        meta = pvc["metadata"]
        if store.get(PERSISTENT_VOLUME_CLAIM, meta["namespace"], meta["name"]) is None:
            with suppress(ForbiddenError):
                body = msgspec.json.encode(pvc)
                (held,) = admission.admitted(PERSISTENT_VOLUME_CLAIM, [body])
                volumes = volumes or VolumeTable(view.list(PERSISTENT_VOLUME))
                _create(store, parse_object(held, meta["name"]), volumes)


def _create(store: Store, pvc: JsonObject, volumes: VolumeTable) -> None:
    """Create a PVC, bound to its volume unless it waits for a pod."""
    found = volume_binding(pvc, StoredObjects(store), volumes)
    if found is not None:
        volumes.put(found.volume)
        pvc, name = found.pvc, found.volume["metadata"]["name"]
        if store.get(PERSISTENT_VOLUME, "", name) is None:
            store.create(PERSISTENT_VOLUME, [msgspec.json.encode(found.volume)])
        else:
            volume = found.volume
            change = {"metadata": volume["metadata"], "spec": volume["spec"]}
            store.patch(PERSISTENT_VOLUME, [Patch("", name, change)])
            store.patch_status(PERSISTENT_VOLUME, [Patch("", name, {"status": volume["status"]})])
    store.create(PERSISTENT_VOLUME_CLAIM, [msgspec.json.encode(pvc)])


def _pvcs(records: Iterable[Record]) -> Iterator[JsonObject]:
    """The PVCs of some pods."""
    for record in records:
        pod = parse_object(record.body, record.name)
        own = {"namespace": record.namespace, "name": record.name, "uid": record.uid}
        yield from ephemeral_pvcs({**pod, "metadata": {**pod["metadata"], **own}})
