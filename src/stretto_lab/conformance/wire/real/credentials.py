"""Addresses and credentials in the requests of a scenario: of real members, or refused ones."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.federation.objects.membership import credentials as keys
from stretto_lab.conformance.wire.placeholders import secret_value
from stretto_lab.conformance.wire.scenario import UserStep, WireScenario
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.credentials import ADMIN, CertificateUser, KeyPair

Fields = dict[str, Any]

_ENDPOINT: Final = re.compile(r"<endpoint:([^>]+)>")
_ADMIN: Final = CertificateUser(ADMIN, ("system:masters",))
_STRANGER: Final = CertificateUser("stranger")
"""A user without rights."""


class RecordedSecrets:
    """Values of the secrets of clusters, by the FederatedClusters that refer to them."""

    def __init__(self, scenario: WireScenario, planes: Mapping[str, ControlPlane]) -> None:
        """Initialize for the clusters that join in a scenario or have joined before.

        Args:
            scenario: the scenario; its faults determine the credentials that the recorded server
                refused.
            planes: the servers by name.
        """
        self._planes = planes
        self._faults = scenario.faults
        self._clusters = {f"{each.name}-secret": each.name for each in scenario.clusters}
        self._members = {each.name: each.name for each in scenario.clusters}
        for step in scenario.steps:
            if isinstance(step, UserStep) and (step.body or {}).get("kind") == "FederatedCluster":
                self._note(step.body)

    def of(self, body: Any) -> Callable[[str], str]:
        """The value of each key in the body of a request, in base64."""
        is_secret = isinstance(body, dict) and body.get("kind") == "Secret"
        cluster = self._clusters.get(body["metadata"]["name"]) if is_secret else None
        if cluster is None:
            return secret_value
        fault, plane = self._faults.get(cluster, ""), self._planes[self._members[cluster]]
        pair = _client(plane, fault)  # one for both keys: the certificate belongs to the key
        return lambda key: base64.b64encode(_value(key, plane, fault, pair)).decode()

    def _note(self, cluster: Fields) -> None:
        """Record a FederatedCluster that the user creates."""
        name, spec = cluster["metadata"]["name"], cluster["spec"]
        endpoint = _ENDPOINT.search(spec.get("apiEndpoint", ""))
        if endpoint is not None and endpoint[1] in self._planes:
            self._clusters[spec["secretRef"]["name"]] = name
            self._members[name] = endpoint[1]


def address_of(planes: Mapping[str, ControlPlane], server: str) -> str:
    """Address of a server; a webhook server has its name, because no request reaches it."""
    plane = planes.get(server)
    return plane.server.removeprefix("https://") if plane is not None else server


def _value(key: str, plane: ControlPlane, fault: str, pair: KeyPair) -> bytes:
    """The value of a key for a member; with a fault, a value that causes the recorded fault."""
    secrets = plane.credentials
    if key == keys.AUTHORITY:
        is_foreign = "certificate signed by unknown authority" in fault
        return (secrets.foreign_authority() if is_foreign else secrets.ca.cert).read_bytes()
    if key == keys.BOOTSTRAP_TOKEN:
        return (secrets.tokens[ADMIN] if not fault else "none").encode()
    return (pair.cert if key == keys.CERTIFICATE else pair.key).read_bytes()


def _client(plane: ControlPlane, fault: str) -> KeyPair:
    """A client certificate that the member accepts, unless the recording refused it."""
    if "Unauthorized" in fault:
        return plane.credentials.foreign_client(_ADMIN)
    return plane.credentials.client(_STRANGER if "orbidden" in fault else _ADMIN)
