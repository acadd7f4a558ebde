"""Address of a webhook: a URL, or the endpoints of a Service."""

from dataclasses import dataclass
from typing import Any, Final

from stretto.api.types.federation.objects import WebhookTLSConfig
from stretto.api.wire.kinds import SERVICE, Kind
from stretto.stores.webhooks import MOST_BYTES, WebhookCall
from stretto.web.api.storage import ObjectStorage
from stretto.workloads.kubelet.status import pod_address

Json = dict[str, Any]

_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
_PORT: Final = 443
_GROWTH: Final = 4
"""Maximum bytes of an answer per sent byte, in addition to a constant."""
_SIMULATED: Final = (
    "simulated pods serve nothing: run the webhook on this machine and state its clientConfig.url"
)
_OF_SERVICE: Final = "kubernetes.io/service-name"


class AddressError(Exception):
    """A webhook cannot be reached; the message contains the reason."""


@dataclass(frozen=True)
class HookAddress:
    """Address of a webhook."""

    #: Address with the path.
    url: str
    #: Required name in its certificate; empty: the host of the address.
    server_name: str = ""
    #: Address for messages.
    shown: str = ""


def address_of(storage: ObjectStorage, client: Json) -> HookAddress:
    """Return the address of the webhook of a ``clientConfig``.

    Raises:
        AddressError: its Service does not exist, or has no ready endpoint that can serve.
    """
    url = client.get("url")
    if url:
        if not str(url).startswith("https://"):
            raise AddressError(f"url {url!r} must use https")
        return HookAddress(str(url), shown=str(url))
    return _of_service(storage, client.get("service") or {})


def webhook_call(address: HookAddress, client: Json, body: bytes, seconds: int) -> WebhookCall:
    """Return the call of a webhook: address, body, and the required certificate of its server."""
    tls = WebhookTLSConfig(
        server_name=address.server_name, ca_data=str(client.get("caBundle") or "")
    )
    most = MOST_BYTES + _GROWTH * len(body)
    return WebhookCall(timed(address.url, seconds), body, float(seconds), tls, most)


def timed(url: str, seconds: int) -> str:
    """Return an address with the timeout of its calls, as in kube-apiserver."""
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}timeout={seconds}s"


def service_url(reference: Json) -> str:
    """Return the address of a webhook's Service by its name, for messages."""
    host = f"{reference.get('name', '')}.{reference.get('namespace', '')}.svc"
    path = str(reference.get("path") or "/")
    return f"https://{host}:{int(reference.get('port') or _PORT)}{path}"


def _of_service(storage: ObjectStorage, reference: Json) -> HookAddress:
    name, namespace = str(reference.get("name", "")), str(reference.get("namespace", ""))
    number = int(reference.get("port") or _PORT)
    path = str(reference.get("path") or "")
    host = f"{name}.{namespace}.svc"
    found = storage.find(SERVICE, namespace, name)
    if found is None:
        raise AddressError(f'service "{name}" not found')
    spec = found.item.get("spec") or {}
    shown = service_url(reference)
    if spec.get("type") == "ExternalName":
        return HookAddress(f"https://{spec.get('externalName')}:{number}{path}", host, shown)
    port = next((each for each in spec.get("ports") or () if each.get("port") == number), None)
    if port is None:
        raise AddressError(f'no service port {number} found for service "{name}"')
    address, target = _endpoint(storage, namespace, name, str(port.get("name") or ""))
    literal = f"[{address}]" if ":" in address else address
    return HookAddress(f"https://{literal}:{target}{path}", host, shown)


def _endpoint(storage: ObjectStorage, namespace: str, name: str, port: str) -> tuple[str, int]:
    """Return address and port of the first ready endpoint that can serve."""
    problem = f'no endpoints available for service "{name}"'
    for each in storage.items(_SLICE, namespace):
        if (each["metadata"].get("labels") or {}).get(_OF_SERVICE) != name:
            continue
        numbers = [
            found.get("port")
            for found in each.get("ports") or ()
            if (found.get("name") or "") == port
        ]
        ready = [
            endpoint
            for endpoint in each.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is not False
            and endpoint.get("addresses")
        ]
        serving = [endpoint for endpoint in ready if not _is_simulated(endpoint)]
        if numbers and numbers[0] and serving:
            return str(serving[0]["addresses"][0]), int(numbers[0])
        problem = _SIMULATED if ready else problem
    raise AddressError(problem)


def _is_simulated(endpoint: Json) -> bool:
    """Return whether an endpoint is a simulated pod, whose address may be that of a machine."""
    uid = (endpoint.get("targetRef") or {}).get("uid")
    return bool(uid) and endpoint["addresses"][0] == pod_address(str(uid))
