"""Rotated authorities: the trust bundle is read again, with no restart and no 401."""

import asyncio
import base64
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stretto.api.wire.kinds import POD
from stretto.base.errors import UnreachableError
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import AccountAccess, KubeconfigAccess, LoginSource
from stretto.stores.kube.store import KubeStore
from tests.support.certificates import self_signed, signed
from tests.unit.stores.kube_server import QUICK, Server, lines, pod
from tests.unit.stores.test_kube import listed, polled
from tests.unit.stores.test_kubeconfig import config, written

FOR_LOOPBACK = ("127.0.0.1",)


class Secure:
    """A server over TLS, whose authority may be replaced, and its clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.certify("first")
        self.server = Server(folder, self.context)
        self.server.rules = [self.answer]
        self.stores: list[KubeStore] = []
        self.more: Callable[[web.Request], object] = lambda _: None

    def answer(self, request: web.Request) -> object:
        """Hang up after each answer, so that each request sees the certificate of the day."""
        answer = web.json_response(pod("web", 5))
        answer.force_close()
        return self.more(request) or answer

    def certify(self, name: str) -> None:
        """Show another certificate, by another authority: itself."""
        self.context.load_cert_chain(*self_signed(self.folder, name, FOR_LOOPBACK))

    def trust(self, name: str) -> None:
        """The files of a pod's account and of a kubeconfig name another authority."""
        authority = (self.folder / f"{name}.crt").read_bytes()
        (self.folder / "ca.crt").write_bytes(authority)
        (self.folder / "token").write_text("secret")
        server = {"server": self.address}
        inline = {"certificate-authority-data": base64.b64encode(authority).decode()}
        self.write("by-file", {**server, "certificate-authority": "ca.crt"})
        self.write("inline", {**server, **inline})

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"

    def write(self, name: str, cluster: dict[str, str]) -> None:
        config = {
            "current-context": "x",
            "clusters": [{"name": "x", "cluster": cluster}],
            "contexts": [{"name": "x", "context": {"cluster": "x"}}],
        }
        (self.folder / name).write_text(json.dumps(config))

    def store(self, way: str) -> KubeStore:
        """A store that goes there in one of the ways."""
        self.trust("first")
        account = AccountAccess(self.folder, self.address)
        access: LoginSource = account if way == "account" else KubeconfigAccess(self.folder / way)
        self.stores.append(KubeStore(access, Rng(1), QUICK))
        return self.stores[-1]


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Secure]:
    secure = Secure(tmp_path)
    yield secure
    for store in secure.stores:
        store.close()
    secure.server.close()


WAYS = pytest.mark.parametrize("way", ["account", "by-file", "inline"])


@WAYS
def test_an_authority_that_was_rotated_is_read_again_at_once(secure: Secure, way: str) -> None:
    store = secure.store(way)
    assert store.get(POD, "default", "web") is not None
    secure.certify("second")
    secure.trust("second")
    assert store.get(POD, "default", "web") is not None


@WAYS
def test_a_certificate_with_missing_usages_is_accepted_as_by_kubectl(
    secure: Secure, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.13 is strict about that; authorities of clusters are not."""

    def strict(*args: Any, known: Any = ssl.create_default_context, **more: Any) -> ssl.SSLContext:
        context: ssl.SSLContext = known(*args, **more)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
    authority = self_signed(secure.folder, "first", states_key_usage=False)
    secure.context.load_cert_chain(*signed(secure.folder, "leaf", authority, FOR_LOOPBACK))
    assert secure.store(way).get(POD, "default", "web") is not None


@WAYS
def test_a_stream_too_comes_back_under_another_authority(secure: Secure, way: str) -> None:
    store = secure.store(way)
    secure.certify("second")
    secure.trust("second")
    secure.more = lines({"type": "ADDED", "object": pod("a", 3)}, listed(7), hold=5)
    assert [event.record.name for event in polled(store.watch(POD, 2), 1)] == ["a"]


@WAYS
def test_a_server_of_another_authority_is_not_trusted_until_that_is_named(
    secure: Secure, way: str
) -> None:
    store = secure.store(way)
    secure.certify("second")
    with pytest.raises(UnreachableError, match="certificate verify failed"):
        store.get(POD, "default", "web")
    assert secure.server.requests == []
    secure.trust("second")
    assert store.get(POD, "default", "web") is not None


def test_an_account_s_trust_is_the_same_object_until_its_authority_is_another(
    secure: Secure,
) -> None:
    """So that connections stay, and a request need not fail first where both are trusted."""
    secure.trust("first")
    access = AccountAccess(secure.folder, secure.address)
    before = asyncio.run(access.login()).context
    assert asyncio.run(access.login(renew=True)).context is before
    secure.certify("second")
    secure.trust("second")
    assert asyncio.run(access.login()).context is not before


def test_a_server_without_tls_is_reported_as_such_and_not_for_its_certificate(
    tmp_path: Path,
) -> None:
    plain = Server(tmp_path)
    server = {"server": f"https://127.0.0.1:{plain.port}"}
    access = KubeconfigAccess(written(tmp_path, config(None, **server)))
    with closing(KubeStore(access, Rng(1), QUICK)) as store:
        for read in (store.list, lambda kind: store.get(kind, "default", "web")):
            with pytest.raises(UnreachableError, match="does this address speak TLS"):
                read(POD)
    plain.close()
