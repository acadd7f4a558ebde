"""The generation of a source that all members have observed."""

from typing import Any

import msgspec

from stretto.api.kinds.federation import FEDERATED_OBJECT
from stretto.api.wire.kinds import DEPLOYMENT, Kind
from stretto.federation import names
from stretto.federation.controllers.observation import observed_generation
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Record

SYNCED = {"syncedGeneration": 1, "clusters": [{"cluster": "alpha", "status": "OK"}]}


def stored(kind: Kind, **fields: Any) -> StoredObject:
    return StoredObject(Record(kind, "default", "web", "uid", 1, msgspec.json.encode(fields)))


def observed(status: dict[str, Any], **annotations: str) -> int | None:
    """The observed generation of a source of generation 3 whose last observed one is 2."""
    source = stored(DEPLOYMENT, metadata={"generation": 3}, status={"observedGeneration": 2})
    metadata = {"generation": 1, "annotations": annotations}
    template = {"metadata": {"generation": 3}}
    federated = stored(
        FEDERATED_OBJECT.kind, metadata=metadata, spec={"template": template}, status=status
    )
    return observed_generation(source, federated, [])


def test_a_synced_object_has_observed_the_generation_of_its_source() -> None:
    assert observed(SYNCED) == 3


def test_an_object_that_waits_for_a_controller_keeps_the_last_observed_generation() -> None:
    waits = '[["kubeadmiral.io/global-scheduler"]]'
    assert observed(SYNCED, **{names.PENDING: waits}) == 2


def test_an_object_that_is_not_synced_keeps_the_last_observed_generation() -> None:
    assert observed({**SYNCED, "syncedGeneration": 0}) == 2
