"""Older states of lists: they end by time, as etcd's compaction ends them in kube-apiserver."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.selection.pages import COMPACTION_S
from stretto.web.api.server import ApiServer, ApiSettings

Json = dict[str, Any]

MAPS = "/api/v1/namespaces/default/configmaps"


class AgingServer:
    """A server with three ConfigMaps, on a clock that a test moves."""

    def __init__(self) -> None:
        self._clock = ManualClock(1_790_000_000.0)
        store = MemoryStore(self._clock, Rng(1))
        self._server = ApiServer(store, ApiSettings(self._clock, Rng(2)))
        for name in ("a", "b", "c"):
            self.create(name)
        #: The metadata of the first page of two objects.
        self.first: Json = self.get("limit=2")["metadata"]

    def create(self, name: str) -> None:
        body = json.dumps({"metadata": {"name": name}}).encode()
        headers = {"content-type": "application/json"}
        self._server.handle(ApiRequest("POST", MAPS, headers, body))

    def get(self, query: str) -> Json:
        answer = self._server.handle(ApiRequest("GET", f"{MAPS}?{query}", {}))
        assert isinstance(answer, ApiResponse)
        found: Json = json.loads(answer.body)
        return found

    def rest(self, token: str) -> list[str]:
        items = self.get(f"continue={token}")["items"]
        return [each["metadata"]["name"] for each in items if each["metadata"]["name"] < "k"]

    def age(self, compactions: int) -> None:
        for _ in range(compactions):
            self._clock.advance(COMPACTION_S)
            self._server.tick()


@pytest.fixture
def server() -> AgingServer:
    return AgingServer()


def test_a_token_is_valid_after_one_compaction(server: AgingServer) -> None:
    server.create("d")
    server.age(1)
    assert server.rest(server.first["continue"]) == ["c"]


def test_a_token_of_an_older_state_expires_at_the_second_compaction(server: AgingServer) -> None:
    server.create("d")
    server.age(2)
    refused = server.get(f"continue={server.first['continue']}")
    assert (refused["code"], refused["reason"]) == (410, "Expired")
    assert "too old to display a consistent list" in refused["message"]


def test_an_expired_token_is_answered_with_one_for_the_current_rest(server: AgingServer) -> None:
    server.create("bb")
    server.age(2)
    refused = server.get(f"continue={server.first['continue']}")
    assert server.rest(refused["metadata"]["continue"]) == ["bb", "c"]


def test_a_token_of_the_current_state_does_not_expire(server: AgingServer) -> None:
    server.age(5)
    assert server.rest(server.first["continue"]) == ["c"]


def test_an_exact_version_expires_as_well(server: AgingServer) -> None:
    exact = f"resourceVersion={server.first['resourceVersion']}&resourceVersionMatch=Exact"
    server.create("d")
    server.age(1)
    assert server.get(exact)["kind"] == "ConfigMapList"
    server.age(1)
    assert server.get(exact)["reason"] == "Expired"
