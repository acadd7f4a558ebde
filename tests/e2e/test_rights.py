"""Permissions and the reports about missing ones: tokens, certificates, RBAC."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import InputError, NotAllowedError, UnreachableError
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import AccountAccess, KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import Bind, Deletion, StatusReason, WriteOutcome
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import all_powerful, until
from tests.e2e.reader import SPACE, made, pods

pytestmark = pytest.mark.kube

QUICK = KubeOptions(write_timeout=1.0, read_timeout=1.0, longest_wait=0.5, token_every=1e9)
"""A token is read again for no other reason than that it was refused."""


@pytest.fixture
def opened() -> Iterator[list[KubeStore]]:
    """Stores that are closed in the end."""
    stores: list[KubeStore] = []
    yield stores
    for store in stores:
        store.close()


def of(access: KubeconfigAccess | AccountAccess, opened: list[KubeStore]) -> KubeStore:
    opened.append(KubeStore(access, Rng(7), QUICK))
    return opened[-1]


def test_a_missing_right_to_list_names_verb_and_resource(
    plane: ControlPlane, opened: list[KubeStore]
) -> None:
    store = of(KubeconfigAccess(plane.kubeconfig_of("guest")), opened)
    with pytest.raises(NotAllowedError, match=r"list nodes .*ClusterRole"):
        store.list(NODE)


def test_a_missing_right_to_bind_is_refused_with_verb_and_resource(
    plane: ControlPlane, store: KubeStore, opened: list[KubeStore]
) -> None:
    pod = made(store, "web")[0]
    poor = of(KubeconfigAccess(plane.kubeconfig_of("guest")), opened)
    reply = poor.bind([Bind(SPACE, "web", pod.uid, "n1")])[0]
    assert (reply.outcome, reply.code) == (WriteOutcome.REFUSED, StatusReason.FORBIDDEN)
    assert "create pods/binding is not allowed" in reply.message


def test_a_missing_watch_permission_is_reported_as_a_trouble(
    plane: ControlPlane, opened: list[KubeStore]
) -> None:
    poor = of(KubeconfigAccess(plane.kubeconfig_of("guest")), opened)
    watch = poor.watch(POD, 1)
    until(lambda: "pods" in poor.troubles(), poor.troubles)
    assert watch.poll() == []
    assert "watch pods is not allowed" in poor.troubles()["pods"]


def test_a_client_certificate_opens_the_door(plane: ControlPlane, opened: list[KubeStore]) -> None:
    pair = plane.credentials.client(CertificateUser("certified", ("system:masters",)))
    user = {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
    path = plane.credentials.kubeconfig("certified", plane.server, user)
    assert of(KubeconfigAccess(path), opened).list(POD).version > 0


def test_an_exec_plugin_gives_the_token(plane: ControlPlane, opened: list[KubeStore]) -> None:
    status = {"token": plane.credentials.tokens["admin"]}
    version = "client.authentication.k8s.io/v1"
    said = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    plugin = {"apiVersion": version, "command": "echo", "args": [said], "interactiveMode": "Never"}
    path = plane.credentials.kubeconfig("plugged", plane.server, {"exec": plugin})
    assert of(KubeconfigAccess(path), opened).list(POD).version > 0


def test_a_server_of_another_authority_is_not_trusted(
    plane: ControlPlane, opened: list[KubeStore], tmp_path: Path
) -> None:
    config = json.loads(plane.kubeconfig.read_text())
    foreign = str(plane.credentials.foreign_authority())
    config["clusters"][0]["cluster"]["certificate-authority"] = foreign
    path = tmp_path / "foreign.kubeconfig"
    path.write_text(json.dumps(config))
    store = of(KubeconfigAccess(path), opened)
    with pytest.raises(UnreachableError, match="certificate-authority"):
        store.list(POD)
    reply = store.create(POD, pods(["web"]))[0]
    assert (reply.outcome, reply.code) == (WriteOutcome.REFUSED, StatusReason.UNAVAILABLE)
    assert "certificate" in reply.message


def test_an_unknown_token_is_rejected(plane: ControlPlane, opened: list[KubeStore]) -> None:
    path = plane.credentials.kubeconfig("stranger", plane.server, {"token": "forged"})
    with pytest.raises(NotAllowedError, match="login"):
        of(KubeconfigAccess(path), opened).list(POD)


def test_a_token_that_was_revoked_is_read_again_from_its_file(
    plane: ControlPlane, opened: list[KubeStore], tmp_path: Path
) -> None:
    folder = tmp_path / "account"
    folder.mkdir()
    (folder / "ca.crt").write_bytes(plane.credentials.ca.cert.read_bytes())
    (folder / "token").write_text(_account_token(plane))
    store = of(AccountAccess(folder, plane.server), opened)
    made(store, "before")
    plane.send("DELETE", f"/api/v1/namespaces/{SPACE}/serviceaccounts/robot")
    fresh = _account_token(plane)
    _until_refused(store)
    (folder / "token").write_text(fresh)
    made(store, "after")
    # A probe stays where the right to delete it went in between.
    assert {"after", "before"} <= {each.name for each in store.list(POD).records}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "usable"),
        ("{}", "usable"),
        ("{not yaml", "usable"),
        ('{"current-context": "x", "contexts": []}', "one of its contexts: none"),
    ],
)
def test_a_kubeconfig_that_is_none_is_bad_input(
    opened: list[KubeStore], tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "bad.kubeconfig"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        of(KubeconfigAccess(path), opened).list(POD)


def test_a_kubeconfig_that_is_not_there_is_bad_input(
    opened: list[KubeStore], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="--kubeconfig"):
        of(KubeconfigAccess(tmp_path / "none"), opened).list(POD)


def _account_token(plane: ControlPlane) -> str:
    """A token of a service account that may do everything."""
    all_powerful(plane, "robot")
    path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/robot/token"
    said = plane.send("POST", path, b'{"spec": {}}')
    token: str = json.loads(said.body)["status"]["token"]
    return token


def _until_refused(store: KubeStore) -> None:
    """The server caches a valid token for ten seconds."""
    for _ in range(300):
        reply = store.create(POD, pods(["probe"]))[0]
        if reply.code is StatusReason.FORBIDDEN:
            return
        if reply.outcome is WriteOutcome.OK:
            store.delete(POD, [Deletion(SPACE, "probe")])
        store.wait(0.1)
    pytest.fail("the token of a deleted account is taken permanently")
