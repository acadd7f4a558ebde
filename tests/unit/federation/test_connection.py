"""Connections to members that are API servers, without a server."""

import asyncio
from concurrent.futures import CancelledError, Future
from typing import Any, cast

import msgspec
import pytest

from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.federation.connection.access import SecretAccess
from stretto.federation.connection.kube import KubeMember
from stretto.federation.connection.protocol import ClusterCredentials, MemberAnswer
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.survey import ServerSurvey, ServerSurveys
from stretto.stores.kube.transport.client import HttpClient
from stretto.stores.wrapper import StoreWrapper

TOKEN = ClusterCredentials("space/east", bootstrap_token="t")


def access(endpoint: str, credentials: ClusterCredentials) -> SecretAccess:
    return SecretAccess(FederatedClusterSpec(api_endpoint=endpoint), credentials)


@pytest.mark.parametrize(
    "host", ["east.example:6443", "localhost.example.com", "127.0.0.1.example"]
)
def test_a_token_is_never_sent_over_plain_http_to_another_machine(host: str) -> None:
    with pytest.raises(InputError, match=r"spec\.apiEndpoint"):
        access(f"http://{host}", TOKEN)


def test_an_address_in_capitals_is_reached_over_tls() -> None:
    login = asyncio.run(access("HTTPS://east:6443", TOKEN).login())
    assert login.server == "https://east:6443"
    assert login.context is not None


@pytest.mark.parametrize("error", [CancelledError(), ValueError("wrong")])
def test_a_probe_is_answered_after_any_error(error: Exception) -> None:
    survey: Future[ServerSurvey] = Future()
    made = KubeMember(cast("KubeStore", SurveyedStore(survey))).probe()
    survey.set_exception(error)
    assert made.result(0).answer is MemberAnswer.UNREACHABLE


def test_credentials_without_an_identity_are_refused_with_what_is_missing() -> None:
    with pytest.raises(InputError, match=r"space/east: data.*bootstrap-token-data"):
        access("https://east:6443", ClusterCredentials("space/east"))


def test_a_malformed_certificate_names_its_secret() -> None:
    broken = ClusterCredentials("space/east", certificate=b"rubbish", key=b"rubbish")
    with pytest.raises(InputError, match=r"secret space/east: certificates"):
        access("https://east:6443", broken)


def test_the_token_of_the_service_account_is_preferred() -> None:
    both = msgspec.structs.replace(TOKEN, account_token="account")
    login = asyncio.run(access("https://east:6443/", both).login())
    assert (login.server, login.authorization) == ("https://east:6443", "Bearer account")


class SurveyedStore(StoreWrapper):
    """Answers a survey when a test says so."""

    def __init__(self, survey: Future[ServerSurvey]) -> None:
        super().__init__(MemoryStore(ManualClock(), Rng(1)))
        self.surveyed = survey

    @property
    def inquiries(self) -> "SurveyedStore":
        return self

    def survey(self) -> Future[ServerSurvey]:
        return self.surveyed


class AnsweringLine:
    """Answers requests from a table, and remembers their paths."""

    def __init__(self, answers: dict[str, Any], health: int = 200) -> None:
        self.answers = answers
        self.health = health
        self.paths: list[str] = []

    async def exchange(self, request: HttpRequest) -> HttpResponse:
        self.paths.append(request.path)
        if request.path == "/healthz":
            return HttpResponse(self.health, b"ok" if self.health == 200 else b"etcd is gone")
        found = self.answers.get(request.path)
        return HttpResponse(200 if found is not None else 404, msgspec.json.encode(found or {}))


def surveyed(line: AnsweringLine, times: int = 1) -> ServerSurvey:
    async def survey() -> ServerSurvey:
        surveys = ServerSurveys(cast("HttpClient", line))
        found = [await surveys.survey() for _ in range(times)]
        return found[-1]

    return asyncio.run(survey())


SERVED = {
    "/openapi/v3": {"paths": {"apis/x/v1": "hash"}},
    "/api/v1": {
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True},
            {"name": "pods/status", "kind": "Pod", "namespaced": True},
        ]
    },
    "/apis": {"groups": [{"versions": [{"groupVersion": "x/v1"}, {"groupVersion": "gone/v1"}]}]},
    "/apis/x/v1": {"resources": [{"name": "gears", "kind": "Gear", "namespaced": False}]},
}


def test_a_survey_lists_kinds_without_subresources_and_without_broken_extensions() -> None:
    kinds = surveyed(AnsweringLine(SERVED)).kinds
    assert kinds is not None
    assert [(each.api_version, each.kind, each.namespaced) for each in kinds] == [
        ("x/v1", "Gear", False),
        ("v1", "Pod", True),
    ]


def test_kinds_are_read_again_only_after_a_change() -> None:
    line = AnsweringLine(SERVED)
    assert surveyed(line, times=3).kinds is not None
    assert line.paths.count("/apis") == 1


def test_an_unhealthy_server_states_why() -> None:
    found = surveyed(AnsweringLine(SERVED, health=500))
    assert (found.status, found.kinds) == (500, None)
    assert "etcd is gone" in found.message
