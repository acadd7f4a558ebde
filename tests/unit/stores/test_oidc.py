"""OpenID Connect in a kubeconfig: a token that is good, one that has expired, and bad issuers."""

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stretto.base.clock import WallClock
from stretto.base.errors import InputError
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.transport.event_loop import LoopThread

HOUR = 3600


def jwt(seconds: float) -> str:
    """A token that expires after this number of seconds; its signature is not verified here."""
    claims = json.dumps({"exp": WallClock().now() + seconds, "sub": "??>>~~"}).encode()
    part = base64.urlsafe_b64encode(claims).rstrip(b"=").decode()
    return f"e30.{part}.c2ln"


class Issuer:
    """An issuer on loopback that gives a new token for each refresh token, once."""

    def __init__(self) -> None:
        self.requested: list[dict[str, str]] = []
        self.answer: dict[str, Any] | None = None
        self.status = 200
        self.in_pieces = False
        self._loop = LoopThread("issuer")
        self.url = self._loop.run(self._start())

    async def _start(self) -> str:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._describe)
        app.router.add_post("/token", self._give)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _describe(self, _: web.Request) -> web.Response:
        return web.json_response({"token_endpoint": f"{self.url}/token"})

    async def _give(self, request: web.Request) -> web.Response:
        self.requested.append(dict(await request.post()))  # type: ignore[arg-type]
        fresh = {"id_token": jwt(HOUR), "refresh_token": f"r{len(self.requested) + 1}"}
        if self.in_pieces:
            return await pieces(request, json.dumps(fresh).encode())
        return web.json_response(self.answer or fresh, status=self.status)

    def close(self) -> None:
        self._loop.close(self._runner.cleanup)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.close()


async def pieces(request: web.Request, body: bytes) -> web.Response:
    """A response that arrives in two halves."""
    response = web.StreamResponse()
    await response.prepare(request)
    for part in (body[:40], body[40:]):
        await response.write(part)
        await asyncio.sleep(0.2)
    return response  # type: ignore[return-value]


def access(folder: Path, **config: str) -> KubeconfigAccess:
    """A kubeconfig whose user logs in by OpenID Connect."""
    user = {"auth-provider": {"name": "oidc", "config": {"client-id": "k", **config}}}
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(whole), encoding="utf-8")
    return KubeconfigAccess(path)


def shown(of: KubeconfigAccess, *, renew: bool = False) -> str:
    return asyncio.run(of.login(renew=renew)).authorization


def test_a_token_that_is_good_is_shown_as_it_is(tmp_path: Path) -> None:
    token = jwt(HOUR)
    assert shown(access(tmp_path, **{"id-token": token})) == f"Bearer {token}"


def test_an_expired_token_is_renewed_once_and_kept(tmp_path: Path, issuer: Issuer) -> None:
    words = {"id-token": jwt(-1), "refresh-token": "r1", "idp-issuer-url": issuer.url}
    ours = access(tmp_path, **words)
    first = shown(ours)
    assert first != f"Bearer {words['id-token']}"
    assert shown(ours) == shown(ours, renew=True) == first
    assert [each["refresh_token"] for each in issuer.requested] == ["r1"]


def test_an_answer_that_comes_in_pieces_is_read_to_its_end(tmp_path: Path, issuer: Issuer) -> None:
    issuer.in_pieces = True
    ours = access(tmp_path, **{"refresh-token": "r1", "idp-issuer-url": issuer.url})
    assert shown(ours).startswith("Bearer e30.")


def test_the_next_renewal_goes_by_what_the_last_one_gave(tmp_path: Path, issuer: Issuer) -> None:
    issuer.answer = {"id_token": jwt(0), "refresh_token": "second"}
    ours = access(tmp_path, **{"refresh-token": "r1", "idp-issuer-url": issuer.url})
    shown(ours)
    shown(ours, renew=True)
    assert [each["refresh_token"] for each in issuer.requested] == ["r1", "second"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"id-token": "no-token"}, "a JSON web token"),
        ({"id-token": "e30.\u00fc.x"}, "a JSON web token"),
        ({"refresh-token": "r", "idp-issuer-url": "https://[::1"}, "https address"),
        ({"id-token": "e30.e30"}, None),
        ({}, "refresh-token"),
        ({"refresh-token": "r", "idp-issuer-url": "http://idp.example.com"}, "https address"),
        ({"refresh-token": "r"}, "https address"),
        ({"refresh-token": "r", "idp-issuer-url": "http://127.0.0.1:1"}, "log in again"),
        ({"refresh-token": "r", "idp-certificate-authority-data": "YQ=="}, "PEM certificate"),
    ],
)
def test_what_gives_no_token_is_bad_input_and_states_the_fix(
    tmp_path: Path, words: dict[str, str], complaint: str | None
) -> None:
    ours = access(tmp_path, **words)
    if complaint is None:
        assert shown(ours) == "Bearer e30.e30"
        return
    with pytest.raises(InputError, match=complaint):
        shown(ours)


@pytest.mark.parametrize("status", [302, 400, 500])
def test_an_issuer_that_rejects_is_named_with_its_message(
    tmp_path: Path, issuer: Issuer, status: int
) -> None:
    issuer.status, issuer.answer = status, {"error": "invalid_grant"}
    ours = access(tmp_path, **{"refresh-token": "r1", "idp-issuer-url": issuer.url})
    with pytest.raises(InputError, match=f"{status}: .*invalid_grant"):
        shown(ours)
