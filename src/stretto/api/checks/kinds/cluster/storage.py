"""Rules of storage classes, drivers, attachments and capacities."""

from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    immutable,
    invalid,
    repeated,
    required,
    too_long,
)
from stretto.api.checks.fields.shapes import members
from stretto.api.checks.fields.texts import dns_subdomain, driver_name, qualified_name
from stretto.api.checks.kinds.core.volumes import inline_volume_errors
from stretto.api.checks.kinds.values import (
    AT_LEAST_ZERO,
    Json,
    check_selector,
    not_negative,
    one_of,
    unchanged,
)
from stretto.api.wire.quantity import nano

_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_RECLAIM: Final = ("Delete", "Retain")
_LEAST_PERIOD: Final = 10
_MOST_PARAMETERS: Final = 512
_PARAMETERS_SIZE: Final = 256 << 10
_FIXED: Final = ("parameters", "provisioner", "reclaimPolicy")
_LIFE: Final = ("Persistent", "Ephemeral")
_GROUPS: Final = ("File", "None", "ReadWriteOnceWithFSType")
_ID_LIMIT: Final = 256


def check_storage_class(item: Json, old: Json | None) -> Errors:
    """Check a StorageClass."""
    found: Errors = []
    provisioner = item.get("provisioner", "")
    if not provisioner:
        found.append(required("provisioner"))
    else:
        problems = qualified_name(provisioner.lower())
        found += [invalid("provisioner", provisioner.lower(), each) for each in problems]
    found += _parameters(item)
    if item.get("reclaimPolicy"):
        found += one_of(item["reclaimPolicy"], "reclaimPolicy", _RECLAIM)
    mode = item.get("volumeBindingMode")
    if mode is None:
        found.append(required("volumeBindingMode"))
    else:
        found += one_of(mode, "volumeBindingMode", _BINDING)
    found += _topologies(item.get("allowedTopologies") or [])
    return found + unchanged(item, old, (*_FIXED, "volumeBindingMode"))


def _topologies(terms: list[Json]) -> Errors:
    """Check the topologies in which volumes of a class may be."""
    found: Errors = []
    seen: list[dict[str, frozenset[str]]] = [{} for _ in terms]  # as in kube-apiserver
    for index, term in enumerate(terms):
        where = f"allowedTopologies[{index}].matchLabelExpressions"
        chosen: dict[str, frozenset[str]] = {}
        for place, each in enumerate(term.get("matchLabelExpressions") or ()):
            found += _labelled_values(each, f"{where}[{place}]")
            key = each.get("key", "")
            if key in chosen:
                found.append(duplicate(f"{where}[{place}].key", key))
            chosen[key] = frozenset(each.get("values") or ())
        found += [duplicate(where, "") for other in seen if other == chosen]
        seen.append(chosen)
    return found


def _labelled_values(expression: Json, path: str) -> Errors:
    """Check the label and the values of an expression."""
    values, key = expression.get("values") or [], expression.get("key", "")
    found = [] if values else [required(f"{path}.values")]
    found += [
        duplicate(f"{path}.values[{each}]", values[each]) for each in sorted(repeated(values))
    ]
    return found + [invalid(f"{path}.key", key, problem) for problem in qualified_name(key)]


def _parameters(item: Json) -> Errors:
    """Check the names and the total size of the parameters of a class."""
    parameters = item.get("parameters") or {}
    if len(parameters) > _MOST_PARAMETERS:
        return [too_long("parameters", _MOST_PARAMETERS)]
    found = [invalid("parameters", "", "field can not be empty.")] if "" in parameters else []
    size = sum(len(key.encode()) + len(each.encode()) for key, each in parameters.items())
    return [*found, too_long("parameters", _PARAMETERS_SIZE)] if size > _PARAMETERS_SIZE else found


def check_attributes_class(item: Json, old: Json | None) -> Errors:
    """Check a VolumeAttributesClass."""
    found = [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if old is not None and item.get(name) != old.get(name)
    ]
    name = item.get("driverName", "")
    lower = name.lower()
    found += [invalid("driverName", lower, each) for each in qualified_name(lower) if name]
    if not name:
        found.append(required("driverName"))
    found += _parameters(item)
    if not item.get("parameters"):
        detail = "must contain at least one key/value pair"
        found.append(required("parameters", detail))
    return found


def check_driver(item: Json, old: Json | None) -> Errors:
    """Check a CSIDriver."""
    spec = item.get("spec") or {}
    found = [
        required(f"spec.{word}")
        for word in ("attachRequired", "podInfoOnMount", "storageCapacity")
        if spec.get(word) is None
    ]
    policy = spec.get("fsGroupPolicy")
    if policy is not None:
        found += one_of(policy, "spec.fsGroupPolicy", _GROUPS)
    for mode in spec.get("volumeLifecycleModes") or ():
        found += one_of(mode, "spec.volumeLifecycleModes", _LIFE)
    audiences: set[str] = set()
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        audience = request.get("audience", "")
        where = f"spec.tokenRequests[{index}]"
        if audience in audiences:
            found.append(duplicate(f"{where}.audience", audience))
        audiences.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            found.append(invalid(f"{where}.expirationSeconds", seconds, detail))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _LEAST_PERIOD:
        detail = f"must be greater than or equal to {_LEAST_PERIOD} seconds"
        found.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))
    if spec.get("serviceAccountTokenInSecrets") is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        value = spec["serviceAccountTokenInSecrets"]
        found.append(invalid("spec.serviceAccountTokenInSecrets", value, detail))
    before = (old or {}).get("spec") or {}
    for word in ("attachRequired", "volumeLifecycleModes"):
        if old is not None and spec.get(word) != before.get(word):
            shown = {"attachRequired": "attachedRequired"}.get(word, word)  # as in kube-apiserver
            found.append(immutable(f"spec.{shown}", spec.get(word)))
    return found


def check_csi_node(item: Json, old: Json | None) -> Errors:
    """Check a CSINode; its drivers are immutable."""
    drivers = (item.get("spec") or {}).get("drivers") or []
    before = {
        each.get("name"): each for each in ((old or {}).get("spec") or {}).get("drivers") or ()
    }
    found: Errors = []
    for driver in drivers:
        was = before.get(driver.get("name"))
        if was is not None and _fixed(was) != _fixed(driver):
            found.append(immutable("spec.drivers", _internal(driver)))
    seen: set[str] = set()
    for index, driver in enumerate(drivers):
        where, name = f"spec.drivers[{index}]", driver.get("name", "")
        found += driver_name(name, f"{where}.name") if name else [required(f"{where}.name")]
        node = driver.get("nodeID", "")
        if not node:
            found.append(required(f"{where}.nodeID"))
        elif len(node) > _ID_LIMIT:
            detail = f"must be {_ID_LIMIT} characters or less"
            found.append(invalid(f"{where}.nodeID", node, detail))
        if name in seen:
            found.append(duplicate(f"{where}.name", name))
        seen.add(name)
        count = (driver.get("allocatable") or {}).get("count")
        found += not_negative(count, f"{where}.allocatable.count")
        keys = driver.get("topologyKeys") or []
        again = repeated(keys)
        for place, key in enumerate(keys):
            if not key:
                found.append(required(where))
            if place in again:
                found.append(duplicate(where, key))
            found += [invalid(where, key, each) for each in qualified_name(key)]
    return found


def _fixed(driver: Json) -> Json:
    return {key: each for key, each in driver.items() if key != "allocatable"}


def _internal(driver: Json) -> Json:
    """A driver in the form that kube-apiserver shows in messages."""
    return {
        "Name": driver.get("name", ""),
        "NodeID": driver.get("nodeID", ""),
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": driver.get("allocatable"),
    }


def _attacher(value: Any, path: str) -> Errors:
    return driver_name(value, path) if value else [required(path)]


def _node_name(value: Any, path: str) -> Errors:
    return [invalid(path, value or "", each) for each in dns_subdomain(value or "")]


def _attached_source(value: Any, path: str) -> Errors:
    source = value or {}
    given = [n for n in ("inlineVolumeSpec", "persistentVolumeName") if source.get(n) is not None]
    if not given:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        return [required(path, detail)]
    if len(given) > 1:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        return [forbidden(path, detail)]
    name, where = source.get("persistentVolumeName"), f"{path}.persistentVolumeName"
    if name == "":
        return [required(where, "must specify non empty persistentVolumeName")]
    if name is not None:
        return [invalid(where, name, each) for each in dns_subdomain(name)]
    return inline_volume_errors(source["inlineVolumeSpec"], f"{path}.inlineVolumeSpec")


_ATTACHMENT: Final = members(
    {"attacher": _attacher, "source": _attached_source, "nodeName": _node_name}
)


def check_attachment(item: Json, old: Json | None) -> Errors:
    """Check a VolumeAttachment; its spec is immutable."""
    found = _ATTACHMENT(item.get("spec"), "spec")
    if old is not None and item.get("spec") != old.get("spec"):
        found.append(immutable("spec", item.get("spec")))
    return found


def check_capacity(item: Json, old: Json | None) -> Errors:
    """Check a CSIStorageCapacity."""
    name = item.get("storageClassName", "")
    found = [invalid("storageClassName", name, each) for each in dns_subdomain(name)]
    found += check_selector(item.get("nodeTopology"), "nodeTopology")
    size = item.get("capacity")
    if size is not None and nano(size, "capacity") < 0:
        found.append(invalid("capacity", size, AT_LEAST_ZERO))
    return found + unchanged(item, old, ("nodeTopology", "storageClassName"))
