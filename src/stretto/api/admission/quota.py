"""ResourceQuotas: usage of pods and other objects, and refusal of objects above a quota."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from stretto.api.admission.request import (
    AdmissionRequest,
    JsonObject,
    ObjectSet,
    ObjectView,
    forbidden,
)
from stretto.api.admission.resources import amounts_of, printed
from stretto.api.admission.selectors import pod_terms
from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, POD, RESOURCE_QUOTA, SERVICE, Kind
from stretto.api.wire.quantity import thousandths

_ATTRIBUTES: Final = "VolumeAttributesClass"
"""Scope of PVCs by their VolumeAttributesClasses."""
_ONE: Final = 1000
"""One object, in thousandths."""
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_REQUIRED: Final = ("cpu", "memory")
"""Requests that every container must have if a quota limits them."""
_COUNTED: Final = (
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
"""Kinds that a quota limits by their bare plural."""
_CLAIMS: Final = ("resource.k8s.io", "resourceclaims")
"""Group and plural of claims of devices."""
_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
"""End of the resource name of the devices of a class."""
_ALL_DEVICES: Final = 32
"""Devices of a request for all devices: the most that one claim can get."""


def check_quotas(
    request: AdmissionRequest, item: JsonObject, view: ObjectView, old: JsonObject | None = None
) -> list[JsonObject]:
    """Return the changed quotas of an object's namespace, with the object charged in their status.

    Args:
        request: the request.
        item: the object.
        view: the other objects.
        old: the object before a change, which is already charged.

    Raises:
        ForbiddenError: the object would exceed a quota, or lacks amounts that a quota requires.
    """
    charged = []
    for quota in view.list(RESOURCE_QUOTA, item["metadata"].get("namespace") or request.namespace):
        if not _matches(quota, request.kind, item):
            continue
        name, hard = quota["metadata"]["name"], _hard(quota)
        if request.kind == POD and old is None:
            missing = _missing(hard, item["spec"])
            if missing:
                reason = f"failed quota: {name}: must specify {missing}"
                raise forbidden(request, reason, "state them", "spec.containers")
        was_charged = old is not None and _matches(quota, request.kind, old)
        before = usage(request.kind, old) if old is not None and was_charged else {}
        amounts = {key: n - before.get(key, 0) for key, n in usage(request.kind, item).items()}
        requested = {key: n for key, n in amounts.items() if n > 0 and key in hard}
        if not requested:
            continue
        used = used_by(quota, view)
        over = sorted(key for key, amount in requested.items() if used[key] + amount > hard[key])
        if over:
            reason = (
                f"exceeded quota: {name}, requested: {_listed(requested, over)}, "
                f"used: {_listed(used, over)}, limited: {_listed(hard, over)}"
            )
            raise forbidden(request, reason, "raise spec.hard of the quota, or request less")
        charged.append(with_usage(quota, {k: n + requested.get(k, 0) for k, n in used.items()}))
    return charged


def without(kind: Kind, item: JsonObject, quotas: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the quotas to which an object was charged, with the object refunded."""
    refunded = []
    for quota in quotas:
        if _matches(quota, kind, item):
            used, amounts = used_by(quota, ObjectSet()), usage(kind, item)
            less = {name: max(0, n - amounts.get(name, 0)) for name, n in used.items()}
            refunded.append(with_usage(quota, less))
    return refunded


def with_usage(quota: JsonObject, used: Mapping[str, int]) -> JsonObject:
    """Return a quota with a status: its limits, and the usage in thousandths."""
    texts = {name: printed(name, amount) for name, amount in used.items()}
    hard = (quota.get("spec") or {}).get("hard") or {}
    return {**quota, "status": {"hard": hard, "used": texts}}


def counted_by(quota: JsonObject) -> set[tuple[str, str]]:
    """(group, plural) of the kinds whose objects a quota counts."""
    found = set()
    for name in (quota.get("spec") or {}).get("hard") or {}:
        plural, _, group = name.removeprefix("count/").partition(".")
        if name.startswith("count/"):
            found.add((group, plural))
        elif plural in _COUNTED:
            found.add(("", plural))
        elif name.endswith(_DEVICES):
            found.add(_CLAIMS)
    return found


def used_by(
    quota: JsonObject, view: ObjectView, kinds: Sequence[Kind] = (POD, PERSISTENT_VOLUME_CLAIM)
) -> dict[str, int]:
    """The usage of a quota in thousandths, from its status, otherwise counted from the objects.

    Args:
        quota: the quota.
        view: the objects.
        kinds: kinds whose objects are counted.
    """
    hard, status = _hard(quota), quota.get("status") or {}
    reported = status.get("used") or {}
    if hard.keys() <= reported.keys() and status.get("hard") == quota["spec"].get("hard"):
        return {name: thousandths(reported[name], f"status.used.{name}") for name in hard}
    total = dict.fromkeys(hard, 0)
    for kind in kinds:
        for item in view.list(kind, quota["metadata"]["namespace"]):
            if _matches(quota, kind, item):
                for name, amount in usage(kind, item).items():
                    if name in total:
                        total[name] += amount
    return total


def usage(kind: Kind, item: JsonObject) -> dict[str, int]:
    """The usage of an object in thousandths, by the resource names of quotas."""
    plural = kind.plural
    found = {f"count/{kind.resource}": _ONE}
    if plural in _COUNTED and not kind.group:
        found[plural] = _ONE
    if kind == SERVICE:
        found |= _service_usage(item.get("spec") or {})
    elif kind == PERSISTENT_VOLUME_CLAIM:
        found |= _storage_usage(item["spec"])
    elif (kind.group, plural) == _CLAIMS:
        found |= _device_usage(item.get("spec") or {})
    elif kind == POD and (item.get("status") or {}).get("phase") not in ENDED:
        found["pods"] = _ONE
        whole = amounts_of(item["spec"])
        found |= _compute_usage(whole.requests, whole.limits)
    return found


def _compute_usage(requests: Mapping[str, int], limits: Mapping[str, int]) -> dict[str, int]:
    """Requests and limits, by the resource names of quotas."""
    found: dict[str, int] = {}
    for name, amount in requests.items():
        found[f"requests.{name}"] = amount
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = amount
    found |= {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}
    return found


def _service_usage(spec: JsonObject) -> dict[str, int]:
    """The node ports and load balancers of a Service."""
    type_, ports = spec.get("type"), spec.get("ports") or ()
    if type_ == "NodePort":
        return {"services.nodeports": len(ports) * _ONE}
    if type_ != "LoadBalancer":
        return {}
    allocates = spec.get("allocateLoadBalancerNodePorts") is not False
    count = len(ports) if allocates else sum(bool(each.get("nodePort")) for each in ports)
    return {"services.loadbalancers": _ONE, "services.nodeports": count * _ONE}


def _storage_usage(spec: JsonObject) -> dict[str, int]:
    """The storage of a PVC, in total and by its class."""
    found: dict[str, int] = {}
    request = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    class_ = spec.get("storageClassName")
    prefix = f"{class_}.storageclass.storage.k8s.io/"
    if class_:
        found[f"{prefix}persistentvolumeclaims"] = _ONE
    if request is not None:
        amount = -(-thousandths(request, "spec.resources.requests.storage") // 1000) * 1000
        found["requests.storage"] = amount
        if class_:
            found[f"{prefix}requests.storage"] = amount
    return found


def _device_usage(spec: JsonObject) -> dict[str, int]:
    """The devices of a claim by class; of alternatives, the greatest number of each class."""
    found: Counter[str] = Counter()
    for request in (spec.get("devices") or {}).get("requests") or ():
        most: dict[str, int] = {}
        for each in request.get("firstAvailable") or [request.get("exactly") or {}]:
            name = f"{each.get('deviceClassName', '')}{_DEVICES}"
            is_all = each.get("allocationMode") == "All"
            count = _ALL_DEVICES if is_all else int(each.get("count") or 1)
            most[name] = max(most.get(name, 0), count * _ONE)
        found.update(most)
    return dict(found)


def _hard(quota: JsonObject) -> dict[str, int]:
    """The limits of a quota in thousandths."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    return {name: thousandths(each, f"spec.hard.{name}") for name, each in hard.items()}


def _missing(hard: Mapping[str, int], spec: JsonObject) -> str:
    """CPU and memory amounts that a quota limits and that containers lack."""
    if (spec.get("resources") or {}).get("requests") or (spec.get("resources") or {}).get("limits"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        stated = _compute_usage(
            dict.fromkeys(resources.get("requests") or {}, 1),
            dict.fromkeys(resources.get("limits") or {}, 1),
        )
        for name in hard:
            if name.rpartition(".")[2] in _REQUIRED and name.count(".") <= 1 and name not in stated:
                missing.setdefault(name, set()).add(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _matches(quota: JsonObject, kind: Kind, item: JsonObject) -> bool:
    """Return whether all scopes of a quota match an object; scopes match only pods and PVCs."""
    scopes = list(_scopes(quota.get("spec") or {}))
    if kind == POD:
        return all(_in_scope(name, operator, values, item) for name, operator, values in scopes)
    if kind == PERSISTENT_VOLUME_CLAIM:
        return all(
            name == _ATTRIBUTES and _selects(operator, values, attribute_classes(item))
            for name, operator, values in scopes
        )
    return not scopes


def attribute_classes(pvc: JsonObject) -> set[str]:
    """The VolumeAttributesClasses of a PVC: the desired one, the current one and the next one."""
    status = pvc.get("status") or {}
    names = (
        (pvc.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {each for each in names if each}


def _selects(operator: str, values: list[Any], names: set[str]) -> bool:
    """Return whether a scope selects one of the class names of an object."""
    if operator in ("Exists", "DoesNotExist"):
        return bool(names) == (operator == "Exists")
    if operator == "In":
        return not names.isdisjoint(values)
    return not names or not names <= set(values)


def _scopes(spec: JsonObject) -> Iterator[tuple[str, str, list[Any]]]:
    """Name, operator and values of each scope."""
    for name in spec.get("scopes") or ():
        yield name, "Exists", []
    for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield each.get("scopeName", ""), each.get("operator", ""), each.get("values") or []


def _in_scope(name: str, operator: str, values: list[Any], pod: JsonObject) -> bool:
    """Return whether a pod is in a scope."""
    spec = pod["spec"]
    if name in ("Terminating", "NotTerminating"):
        return (spec.get("activeDeadlineSeconds") is not None) == (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        return _best_effort(spec) == (name == "BestEffort")
    if name == "CrossNamespacePodAffinity":
        return any(
            term.get("namespaces") or term.get("namespaceSelector") is not None
            for term in pod_terms(spec)
        )
    if name != "PriorityClass":
        return False
    return _selects(operator, values, {each for each in [spec.get("priorityClassName")] if each})


def _best_effort(spec: JsonObject) -> bool:
    """Return whether neither a container nor the pod level requests CPU or memory."""
    whole = amounts_of({**spec, "overhead": None})
    return not any(part.get(name) for part in whole for name in _REQUIRED)


def _listed(amounts: Mapping[str, int], names: list[str]) -> str:
    """Format amounts as the API server does: ``cpu=1,memory=1Gi``."""
    return ",".join(f"{name}={printed(name, amounts[name])}" for name in names)
