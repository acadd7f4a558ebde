"""Webhooks over HTTPS: a real server, its certificate, and the requests that pass meanwhile."""

import asyncio
import base64
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.serving.certificates import CertificateSubject, Use, write_pair
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.kube.transport.event_loop import LoopThread
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.barrier import NO_BARRIER
from stretto.web.local.keys import PemPair
from stretto.web.local.webhooks import LocalWebhooks

MAPS = "/api/v1/namespaces/default/configmaps"
PATHS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GATES = "/apis/example.org"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


class HttpsHook:
    """A webhook that denies objects without data, or converts objects, after ``delay`` seconds."""

    def __init__(self, pair: PemPair) -> None:
        self.loop = LoopThread("https-hook")
        self.delay = 0.0
        self.pair = pair
        self.url = self.loop.run(self._start())

    async def _start(self) -> str:
        app = web.Application()
        app.router.add_post("/{path}", self._answer)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.pair.cert, self.pair.key)
        await web.TCPSite(self.runner, "127.0.0.1", 0, ssl_context=context).start()
        return f"https://127.0.0.1:{self.runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.Response:
        if request.match_info["path"] == "moved":
            return web.Response(status=302, headers={"Location": f"{self.url}/hook"})
        review = await request.json()
        await asyncio.sleep(self.delay)
        if review["kind"] == "ConversionReview":
            return web.json_response(converted(review))
        allowed = bool((review["request"]["object"] or {}).get("data"))
        response = {"uid": review["request"]["uid"], "allowed": allowed}
        kept = {key: review[key] for key in ("kind", "apiVersion")}
        return web.json_response({**kept, "response": response})


def converted(review: Any) -> Any:
    """The answer of a converter that changes nothing but versions."""
    request = review.pop("request")
    version = {"apiVersion": request["desiredAPIVersion"]}
    objects = [each | version for each in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects}
    return {**review, "response": {**response, "result": {"status": "Success"}}}


class Site:
    """A server with its webhooks, whose requests are sent to its application."""

    def __init__(self) -> None:
        clock = ManualClock(1_790_000_000.0)
        self.server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
        self.webhooks = LocalWebhooks()
        self.app: Any = self.webhooks.application(self.server.attempt, NO_BARRIER)

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": method, "raw_path": path.encode(), "headers": headers}
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": json.dumps(body).encode() if body else b""}

        async def keep(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, keep)
        return sent[0]["status"], json.loads(b"".join(each.get("body", b"") for each in sent))

    def hook(self, url: str, authority: Path | None) -> None:
        client = {"url": url}
        if authority is not None:
            client["caBundle"] = base64.b64encode(authority.read_bytes()).decode()
        hook = {"name": "a.hooks.test", "rules": [RULE], "sideEffects": "None"}
        hook |= {"admissionReviewVersions": ["v1"], "clientConfig": client}
        body = {"metadata": {"name": "a"}, "webhooks": [hook]}
        assert asyncio.run(self.send("POST", PATHS, body))[0] == 201

    def define(self, url: str, authority: Path) -> None:
        """A kind with two versions and a converter."""
        client = {"url": url, "caBundle": base64.b64encode(authority.read_bytes()).decode()}
        hook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        schema = {"openAPIV3Schema": {"type": "object"}}
        versions = [
            {"name": name, "served": True, "storage": name == "v1", "schema": schema}
            for name in ("v1", "v2")
        ]
        spec = {"group": "example.org", "scope": "Cluster", "versions": versions}
        spec |= {"names": {"plural": "gates", "kind": "Gate"}}
        spec |= {"conversion": {"strategy": "Webhook", "webhook": hook}}
        body = {"metadata": {"name": "gates.example.org"}, "spec": spec}
        assert asyncio.run(self.send("POST", DEFINITIONS, body))[0] == 201
        self.server.tick()
        gate = {"apiVersion": "example.org/v1", "kind": "Gate", "metadata": {"name": "a"}}
        assert asyncio.run(self.send("POST", f"{GATES}/v1/gates", gate))[0] == 201

    def store(self, **data: str) -> tuple[int, Any]:
        return asyncio.run(self.send("POST", MAPS, {"metadata": {"name": "m"}, "data": data}))


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[HttpsHook]:
    pair = PemPair(tmp_path / "hook.crt", tmp_path / "hook.key")
    subject = CertificateSubject(
        name="hook", hosts=("127.0.0.1",), use=Use.SERVER, is_authority=True
    )
    write_pair(pair, subject)
    made = HttpsHook(pair)
    yield made
    made.loop.close(made.runner.cleanup)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.webhooks.close()


def test_a_webhook_is_called_over_https(hook: HttpsHook, site: Site) -> None:
    site.hook(f"{hook.url}/hook", hook.pair.cert)
    assert site.store()[0] == 400
    assert site.store(x="1")[0] == 201


def test_a_certificate_of_another_authority_is_not_trusted(hook: HttpsHook, site: Site) -> None:
    site.hook(f"{hook.url}/hook", None)
    status, answer = site.store(x="1")
    assert status == 500
    assert "x509: certificate signed by unknown authority" in answer["message"]


def test_a_redirect_is_not_followed(hook: HttpsHook, site: Site) -> None:
    site.hook(f"{hook.url}/moved", hook.pair.cert)
    status, answer = site.store(x="1")
    assert status == 500
    assert "status code 302" in answer["message"]


def test_other_requests_are_answered_while_a_webhook_is_slow(hook: HttpsHook, site: Site) -> None:
    site.hook(f"{hook.url}/hook", hook.pair.cert)
    hook.delay = 0.3

    async def both() -> list[str]:
        done: list[str] = []

        async def send(name: str, *request: Any) -> None:
            await site.send(*request)
            done.append(name)

        body = {"metadata": {"name": "m"}, "data": {"x": "1"}}
        await asyncio.gather(send("write", "POST", MAPS, body), send("read", "GET", MAPS))
        return done

    assert asyncio.run(both()) == ["read", "write"]


def test_a_slow_converter_keeps_only_requests_in_its_version_waiting(
    hook: HttpsHook, site: Site
) -> None:
    site.define(f"{hook.url}/convert", hook.pair.cert)
    hook.delay = 0.3
    done: list[str] = []

    async def read(version: str) -> Any:
        answer = await site.send("GET", f"{GATES}/{version}/gates/a")
        done.append(version)
        return answer

    async def both() -> list[Any]:
        return list(await asyncio.gather(read("v2"), read("v1")))

    status, item = asyncio.run(both())[0]
    assert (status, item["apiVersion"], done) == (200, "example.org/v2", ["v1", "v2"])


def test_a_controller_repeats_its_write_once_the_webhook_has_answered(
    hook: HttpsHook, site: Site
) -> None:
    site.hook(f"{hook.url}/hook", hook.pair.cert)
    client = ApiClient(site.server.state, "test", site.webhooks.start)
    item = {"metadata": {"name": "m", "namespace": "default"}, "data": {"x": "1"}}

    def created() -> bool:
        try:
            return bool(client.create(CONFIG_MAP, item))
        except ApiError as error:
            return error.reason != "ServiceUnavailable"

    async def repeated() -> int:
        for attempt in range(200):
            if created():
                return attempt
            await asyncio.sleep(0.02)
        return 0

    assert asyncio.run(repeated()) > 0
