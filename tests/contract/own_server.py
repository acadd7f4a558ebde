"""Our own API server under the contract, over HTTP, as the real one."""

import http.client
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stretto.api.wire.kinds import Kind
from stretto_lab.conformance.apiserver.served import ServedCluster
from stretto_lab.control_plane.cluster import ServerAnswer
from stretto_lab.control_plane.crds import PATH, definition


class OwnServer:
    """A served cluster without controllers, with the requests of ``ControlPlane``."""

    def __init__(self, served: ServedCluster, kubeconfig: Path) -> None:
        #: Path of the kubeconfig of its administrator.
        self.kubeconfig = kubeconfig
        self._served = served

    def send(self, method: str, path: str, body: bytes = b"") -> ServerAnswer:
        """Send one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self._served.port, timeout=20)
        kind = "merge-patch+json" if method == "PATCH" else "json"
        headers = {"Content-Type": f"application/{kind}"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        found = ServerAnswer(answer.status, answer.read())
        connection.close()
        return found

    def install(self, kinds: Sequence[Kind]) -> None:
        """Create CRDs, which are served at once."""
        for kind in kinds:
            self.send("POST", PATH, definition(kind))


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A server while the block runs."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        served = ServedCluster(kubeconfig, full=False)
        yield OwnServer(served, kubeconfig)
        served.close()
