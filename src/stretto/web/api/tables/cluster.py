"""Cells of rights, storage, networking, admission and flow control."""

from typing import Any, Final

from stretto.web.api.tables.values import NONE, UNSET, age, condition, spec, status

Json = dict[str, Any]

_SHOWN: Final = 3
_PENDING: Final = "Pending"


def created(item: Json, _now: float) -> list[Any]:
    """Time of creation."""
    return [item["metadata"].get("creationTimestamp") or "<unknown>"]


def age_only(item: Json, now: float) -> list[Any]:
    """Age."""
    return [age(item, now)]


def api_service(item: Json, now: float) -> list[Any]:
    """Service, availability, age."""
    service = spec(item).get("service")
    name = "Local" if service is None else f"{service.get('namespace')}/{service.get('name')}"
    found = condition(item, "Available")
    word = "Unknown"
    if found is not None:
        word = found.get("status", "Unknown")
        if word != "True" and found.get("reason"):
            word = f"{word} ({found['reason']})"
    return [name, word, age(item, now)]


def binding(item: Json, now: float) -> list[Any]:
    """Role, age, subjects."""
    role = item.get("roleRef") or {}
    found: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for each in item.get("subjects") or ():
        kind, name = each.get("kind", ""), each.get("name", "")
        if kind == "ServiceAccount":
            name = f"{each.get('namespace', '')}/{name}"
        found.setdefault(kind, []).append(name)
    texts = [", ".join(found[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [f"{role.get('kind')}/{role.get('name')}", age(item, now), *texts]


def signing_request(item: Json, now: float) -> list[Any]:
    """Age, signer, requestor, duration, condition."""
    body = spec(item)
    words = [each.get("type", "") for each in status(item).get("conditions") or ()]
    if status(item).get("certificate"):
        words.append("Issued")
    seconds = body.get("expirationSeconds")
    return [
        age(item, now),
        body.get("signerName") or NONE,
        body.get("username", ""),
        NONE if seconds is None else f"{seconds}s",
        ",".join(words) or _PENDING,
    ]


def ingress(item: Json, now: float) -> list[Any]:
    """Class, hosts, addresses, ports, age."""
    body = spec(item)
    hosts = [each["host"] for each in body.get("rules") or () if each.get("host")]
    shown = ",".join(hosts[:_SHOWN])
    more = len(hosts) - _SHOWN
    if more > 0:
        shown = f"{shown} + {more} more..."
    given = (status(item).get("loadBalancer") or {}).get("ingress") or ()
    addresses = ",".join(each.get("ip") or each.get("hostname", "") for each in given)
    ports = "80, 443" if body.get("tls") else "80"
    name = body.get("ingressClassName") or NONE
    return [name, shown or "*", addresses, ports, age(item, now)]


def ingress_class(item: Json, now: float) -> list[Any]:
    """Controller, parameters, age."""
    found = spec(item).get("parameters")
    text = NONE
    if found:
        group = found.get("apiGroup")
        kind = f"{found.get('kind')}.{group}" if group else str(found.get("kind"))
        text = f"{kind}/{found.get('name')}"
    return [spec(item).get("controller", ""), text, age(item, now)]


def ip_address(item: Json, now: float) -> list[Any]:
    """The object of the address, and an age without a column, as in kube-apiserver."""
    parent = spec(item).get("parentRef") or {}
    name = f"{parent.get('resource', '')}"
    if parent.get("group"):
        name = f"{name}.{parent['group']}"
    space = f"{parent['namespace']}/" if parent.get("namespace") else ""
    return [f"{name}/{space}{parent.get('name', '')}", age(item, now)]


def service_cidr(item: Json, now: float) -> list[Any]:
    """Ranges and age."""
    return [",".join(spec(item).get("cidrs") or ()), age(item, now)]


def csi_driver(item: Json, now: float) -> list[Any]:
    """Requirements, modes, age."""
    body = spec(item)
    requests = body.get("tokenRequests")
    audiences = ",".join(each.get("audience", "") for each in requests or ())
    return [
        body.get("attachRequired", True),
        body.get("podInfoOnMount", False),
        body.get("storageCapacity", False),
        audiences if requests else UNSET,
        body.get("requiresRepublish", False),
        ",".join(body.get("volumeLifecycleModes") or ()) or NONE,
        age(item, now),
    ]


def csi_node(item: Json, now: float) -> list[Any]:
    """Number of drivers and age."""
    return [len(spec(item).get("drivers") or ()), age(item, now)]


_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
    "ingressclass.kubernetes.io/is-default-class",
)


def class_name(item: Json) -> str:
    """The name of a class of volumes or Ingresses, with a mark if it is the default."""
    name, notes = str(item["metadata"].get("name", "")), item["metadata"].get("annotations") or {}
    is_default = any(notes.get(each) == "true" for each in _DEFAULT_CLASS)
    return f"{name} (default)" if is_default else name


def storage_class(item: Json, now: float) -> list[Any]:
    """Provisioner, policies, expansion, age."""
    return [
        item.get("provisioner", ""),
        item.get("reclaimPolicy", "Delete"),
        item.get("volumeBindingMode", "Immediate"),
        item.get("allowVolumeExpansion", False),
        age(item, now),
    ]


def attachment(item: Json, now: float) -> list[Any]:
    """Attacher, volume, node, state, age."""
    body = spec(item)
    source = body.get("source") or {}
    return [
        body.get("attacher", ""),
        source.get("persistentVolumeName") or "",
        body.get("nodeName", ""),
        status(item).get("attached", False),
        age(item, now),
    ]


def attributes_class(item: Json, now: float) -> list[Any]:
    """Driver and age."""
    return [item.get("driverName", ""), age(item, now)]


def webhooks(item: Json, now: float) -> list[Any]:
    """Number of webhooks and age."""
    return [len(item.get("webhooks") or ()), age(item, now)]


def admission_policy(item: Json, now: float) -> list[Any]:
    """Number of rules, kind of parameters, age."""
    body = spec(item)
    found = body.get("paramKind")
    text = UNSET if not found else f"{found.get('apiVersion')}/{found.get('kind')}"
    count = len(body.get("validations") or body.get("mutations") or ())
    return [count, text, age(item, now)]


def policy_binding(item: Json, now: float) -> list[Any]:
    """Policy, parameters, age."""
    body = spec(item)
    found = body.get("paramRef")
    text = UNSET
    if found:
        space = f"{found['namespace']}/" if found.get("namespace") else "*/"
        text = f"{space}{found.get('name', '')}"
    return [body.get("policyName", ""), text, age(item, now)]


def priority_class(item: Json, now: float) -> list[Any]:
    """Value, default, age, preemption policy."""
    return [
        item.get("value", 0),
        item.get("globalDefault", False),
        age(item, now),
        item.get("preemptionPolicy", ""),
    ]


def lease(item: Json, now: float) -> list[Any]:
    """Holder and age."""
    return [spec(item).get("holderIdentity") or "", age(item, now)]


def runtime_class(item: Json, now: float) -> list[Any]:
    """Handler and age."""
    return [item.get("handler", ""), age(item, now)]


def endpoint_slice(item: Json, now: float) -> list[Any]:
    """Type of addresses, ports, addresses, age."""
    ports = [
        "*" if each.get("port") is None else str(each["port"]) for each in item.get("ports") or ()
    ]
    addresses = [
        address for each in item.get("endpoints") or () for address in each.get("addresses") or ()
    ]
    return [
        item.get("addressType", ""),
        _some(ports, UNSET),
        _some(addresses, UNSET),
        age(item, now),
    ]


def _some(texts: list[str], empty: str) -> str:
    more = len(texts) - _SHOWN
    shown = ",".join(texts[:_SHOWN])
    return f"{shown} + {more} more..." if more > 0 else shown or empty


def resource_claim(item: Json, now: float) -> list[Any]:
    """State and age."""
    words = []
    if item["metadata"].get("deletionTimestamp"):
        words.append("deleted")
    if status(item).get("allocation"):
        words.append("allocated")
    if status(item).get("reservedFor"):
        words.append("reserved")
    return [",".join(words) if "allocated" in words else "pending", age(item, now)]


def resource_slice(item: Json, now: float) -> list[Any]:
    """Node, driver, pool, age."""
    body = spec(item)
    pool = (body.get("pool") or {}).get("name", "")
    return [body.get("nodeName") or "", body.get("driver", ""), pool, age(item, now)]


def flow_schema(item: Json, now: float) -> list[Any]:
    """Level, precedence, distinguisher, age, and whether the level is missing."""
    body = spec(item)
    dangling = condition(item, "Dangling")
    method = (body.get("distinguisherMethod") or {}).get("type") or NONE
    return [
        (body.get("priorityLevelConfiguration") or {}).get("name", ""),
        body.get("matchingPrecedence", 0),
        method,
        age(item, now),
        "?" if dangling is None else dangling.get("status", "?"),
    ]


def precedence(item: Json) -> tuple[int, str]:
    """Return the place of a FlowSchema in a table: schemas that match first come first."""
    return spec(item).get("matchingPrecedence", 0), item["metadata"].get("name", "")


def priority_level(item: Json, now: float) -> list[Any]:
    """Type, shares, queues, age."""
    body = spec(item)
    limited = body.get("limited")
    cells: list[Any] = [NONE] * 4
    if limited:
        cells[0] = limited.get("nominalConcurrencyShares", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing:
            names = ("queues", "handSize", "queueLengthLimit")
            cells[1:] = [queuing.get(name, 0) for name in names]
    return [body.get("type", ""), *cells, age(item, now)]
