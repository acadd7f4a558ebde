"""Expiring logins: a service account token, and an expired client certificate."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec.structs import replace

from stretto.api.wire.kinds import POD
from stretto.base.errors import NotAllowedError
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import PODS, SPACE, Daemon, all_powerful, bound, pod, put, until
from tests.e2e.plane import SURE
from tests.e2e.site import broken_laws

pytestmark = pytest.mark.kube

ISSUER = "https://kubernetes.default.svc"
ACCOUNTS = f"/api/v1/namespaces/{SPACE}/serviceaccounts"
BRIEF = 15
"""Lifetime of an expiring token in seconds; kubelets request an hour."""
LEEWAY = 60
"""Seconds for which a server takes a token whose time is over: clocks differ."""


def token(site: ControlPlane, account: str, uid: str, seconds: float) -> str:
    """A token of an account as the server itself would sign it, valid for this many seconds."""
    now = int(time.time())
    about = {"namespace": SPACE, "serviceaccount": {"name": account, "uid": uid}}
    claims = {
        "iss": ISSUER,
        "aud": [ISSUER],
        "sub": f"system:serviceaccount:{SPACE}:{account}",
        "iat": now - LEEWAY,
        "nbf": now - LEEWAY,
        "exp": now + int(seconds) - LEEWAY,
        "kubernetes.io": about,
    }
    text = b".".join(_base64(json.dumps(each).encode()) for each in ({"alg": "RS256"}, claims))
    key = load_pem_private_key(site.credentials.accounts.read_bytes(), None)
    assert isinstance(key, RSAPrivateKey)
    made = key.sign(text, PKCS1v15(), SHA256())
    return (text + b"." + _base64(made)).decode()


def _base64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


@pytest.fixture
def robot(site: ControlPlane) -> Callable[[float], str]:
    """Makes tokens of an account that may do everything."""
    uid = all_powerful(site, "robot")
    return lambda seconds: token(site, "robot", uid, seconds)


def test_a_token_that_expires_before_its_file_is_replaced_is_reported_and_reread(
    site: ControlPlane, robot: Callable[[float], str], tmp_path: Path
) -> None:
    """The first one is another account's, which is removed: so it lasts just as long as it must."""
    file = tmp_path / "token"
    file.write_text(token(site, "starter", all_powerful(site, "starter"), 3600))
    config = site.credentials.kubeconfig("rotated", site.server, {"tokenFile": str(file)})
    with Daemon(config, tmp_path / "log", "--lease", f"{SPACE}/expiry") as daemon:
        daemon.ready()
        put(site, PODS, pod("before", "10m"))
        until(lambda: "before" in bound(site), daemon.part.log_tail)
        file.write_text(robot(BRIEF))
        assert site.send("DELETE", f"{ACCOUNTS}/starter").status == 200
        until(lambda: "the token of kubeconfig" in daemon.page("/readyz")[1], daemon.part.log_tail)
        put(site, PODS, *(pod(f"late-{number}", "10m") for number in range(20)))
        until(lambda: daemon.page("/readyz")[0] == 503, daemon.part.log_tail)
        until(lambda: daemon.page("/livez")[0] == 200, daemon.part.log_tail)
        assert set(bound(site)) == {"before"}
        file.write_text(robot(3600))
        until(lambda: len(bound(site)) == 21, daemon.part.log_tail)
        daemon.ready()
        assert daemon.part.is_running
    assert broken_laws(site) == []


def test_a_token_that_is_replaced_in_time_is_never_missed(
    site: ControlPlane, robot: Callable[[float], str], tmp_path: Path
) -> None:
    file, first = tmp_path / "token", robot(BRIEF)
    file.write_text(first)
    config = site.credentials.kubeconfig("rotated", site.server, {"tokenFile": str(file)})
    options = replace(SURE, token_every=1.0)
    old = site.credentials.kubeconfig("old", site.server, {"token": first})
    with (
        closing(KubeStore(KubeconfigAccess(config), Rng(3), options)) as store,
        closing(KubeStore(KubeconfigAccess(old), Rng(4), SURE)) as late,
    ):
        assert store.list(POD).records == []
        file.write_text(robot(3600))
        store.wait(1.2)
        assert store.list(POD).records == []
        file.unlink()  # what is in hand is the new one
        until(lambda: is_refused(late), lambda: "the first token is taken permanently")
        assert store.list(POD).records == []


def is_refused(store: KubeStore) -> bool:
    """Return whether the server rejects a store's login."""
    try:
        store.list(POD)
    except NotAllowedError:
        return True
    return False


def test_an_expired_client_certificate_is_named_with_its_date(site: ControlPlane) -> None:
    pair = site.credentials.client(CertificateUser("expired", ("system:masters",)), days=-1)
    user = {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
    config = site.credentials.kubeconfig("expired", site.server, user)
    with (
        closing(KubeStore(KubeconfigAccess(config), Rng(3))) as store,
        pytest.raises(NotAllowedError) as reported,
    ):
        store.list(POD)
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))
    assert "client certificate" in str(reported.value)
    assert f"valid until {day}T" in str(reported.value)
    command = [sys.executable, "-m", "stretto.cli.main", "scheduler", "--kubeconfig", str(config)]
    done = subprocess.run([*command, "--bind-address="], capture_output=True, text=True)
    assert done.returncode == 5
    assert f"valid until {day}T" in done.stderr
