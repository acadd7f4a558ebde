"""The ConfigMap from which other servers read how clients authenticate."""

from collections.abc import Mapping

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest
from stretto.web.api.server import ApiServer, ApiSettings

PATH = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(ManualClock(), Rng(1))


def published(store: MemoryStore, authentication: Mapping[str, str]) -> bytes:
    """Return what a server with these settings publishes over the store."""
    settings = ApiSettings(ManualClock(), Rng(2), authentication=authentication)
    answer = ApiServer(store, settings).handle(ApiRequest("GET", PATH))
    body: bytes = getattr(answer, "body", b"")
    return body


def test_the_settings_are_published(store: MemoryStore) -> None:
    assert b'"data":{"client-ca-file":"A"}' in published(store, {"client-ca-file": "A"})


def test_a_start_with_other_keys_replaces_the_settings(store: MemoryStore) -> None:
    published(store, {"client-ca-file": "A", "requestheader-client-ca-file": "P"})
    assert b'"data":{"client-ca-file":"B"}' in published(store, {"client-ca-file": "B"})


def test_a_start_with_the_same_keys_writes_nothing(store: MemoryStore) -> None:
    first = published(store, {"client-ca-file": "A"})
    assert published(store, {"client-ca-file": "A"}) == first
