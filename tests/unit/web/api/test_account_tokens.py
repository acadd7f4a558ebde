"""Tokens of ServiceAccounts: issued, accepted, and worthless without their account."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
START = 1_790_000_000.0


class Site:
    def __init__(self) -> None:
        self.clock = ManualClock(START)
        tokens = TokenTable({"secret": User("admin", "", ("system:masters",))})
        store = MemoryStore(self.clock, Rng(1))
        self.server = ApiServer(store, ApiSettings(self.clock, Rng(2), tokens))
        self.send("POST", ACCOUNTS, {"metadata": {"name": "robot"}})

    def send(self, method: str, target: str, body: Any = None, token: str = "secret") -> Any:
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.server.handle(ApiRequest(method, target, headers, data))
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)

    def token(self, **spec: Any) -> str:
        answer = self.send("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
        return str(answer["status"]["token"])

    def name_of(self, token: str) -> Any:
        answer = self.send("POST", REVIEWS, {}, token)
        return answer.get("status", {}).get("userInfo", {}).get("username") if token else None


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_token_identifies_its_account(site: Site) -> None:
    assert site.name_of(site.token()) == "system:serviceaccount:default:robot"


def test_a_token_ends_with_its_time(site: Site) -> None:
    token = site.token(expirationSeconds=600)
    site.clock.advance(601)
    assert site.send("GET", "/api", token=token)["reason"] == "Unauthorized"


def test_a_token_ends_with_its_account(site: Site) -> None:
    token = site.token()
    site.send("DELETE", f"{ACCOUNTS}/robot")
    assert site.send("GET", "/api", token=token)["reason"] == "Unauthorized"


def test_a_token_for_another_audience_is_refused(site: Site) -> None:
    token = site.token(audiences=["vault"])
    assert site.send("GET", "/api", token=token)["reason"] == "Unauthorized"


@pytest.mark.parametrize("damage", ["x", "", ".x"])
def test_a_changed_token_is_refused(site: Site, damage: str) -> None:
    head, body, signature = site.token().split(".")
    changed = f"{head}.{body[:-4]}AAAA{damage}.{signature}"
    assert site.send("GET", "/api", token=changed)["reason"] == "Unauthorized"


def test_a_review_is_no_object_and_has_no_table(site: Site) -> None:
    accepted = "application/json;as=Table;v=v1;g=meta.k8s.io"
    headers = {"authorization": "Bearer secret", "accept": accepted}
    answer = site.server.handle(ApiRequest("POST", REVIEWS, headers, b"{}"))
    assert isinstance(answer, ApiResponse)
    assert answer.status == 406
