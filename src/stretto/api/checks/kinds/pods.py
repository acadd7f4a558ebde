"""Rules of pods and pod templates."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    missing,
    required,
    unsupported,
)
from stretto.api.checks.fields.texts import dns_label, dns_subdomain, label_value, qualified_name
from stretto.api.checks.kinds.resources import check_resources
from stretto.api.checks.kinds.values import (
    check_selector,
    is_address,
    labelled,
    one_of,
    port_number,
)

Json = dict[str, Any]

UPDATE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)
"""Why an update of a pod is refused."""
_FREE: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "tolerations",
        "schedulingGates",
        "nodeName",
        "ephemeralContainers",
    }
)
"""Members of a spec that some update may change."""
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PULLS: Final = ("Always", "IfNotPresent", "Never")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_NAME_LIMIT: Final = 63
_PORT_NAME_LIMIT: Final = 15
_SECONDS: Final = 2**31 - 1


def check_pod(item: Json, old: Json | None) -> Errors:
    """A pod."""
    spec = item.get("spec") or {}
    if old is not None:
        same = _fixed(spec) == _fixed(old.get("spec") or {})
        return [] if same else [forbidden("spec", UPDATE)]
    found = check_pod_spec(spec, "spec")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        found.append(forbidden("spec.nodeName", detail))
    return found


def _fixed(spec: Json) -> Json:
    """The part of a spec that an update may not change."""
    left = {key: each for key, each in spec.items() if key not in _FREE}
    for word in ("containers", "initContainers"):
        items = spec.get(word) or []
        left[word] = [
            {key: each for key, each in item.items() if key not in ("image", "resources")}
            for item in items
        ]
    return left


def check_pod_spec(spec: Json, path: str) -> Errors:
    """The spec of a pod or of a template."""
    found: Errors = []
    volumes = _volumes(spec, path, found)
    containers = spec.get("containers") or []
    if not containers:
        found.append(required(f"{path}.containers"))
    names: set[str] = set()
    for word, items in (
        ("containers", containers),
        ("initContainers", spec.get("initContainers") or []),
    ):
        for index, container in enumerate(items):
            where = f"{path}.{word}[{index}]"
            found += _container(container, where, names, (spec, volumes))
    found += one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", _RESTARTS)
    found += one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _SECONDS:
        detail = f"must be between 1 and {_SECONDS}, inclusive"
        found.append(invalid(f"{path}.activeDeadlineSeconds", deadline, detail))
    found += _names(spec, path)
    found += _affinity(spec.get("affinity") or {}, f"{path}.affinity")
    found += _tolerations(spec.get("tolerations") or [], f"{path}.tolerations")
    found += _spread(spec.get("topologySpreadConstraints") or [], path)
    return found


def _volumes(spec: Json, path: str, found: Errors) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        where, name = f"{path}.volumes[{index}]", volume.get("name", "")
        if not name:
            found.append(required(f"{where}.name"))
        else:
            found += labelled(name, f"{where}.name")
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        sources = [key for key in volume if key != "name"]
        found += [
            forbidden(f"{where}.{key}", "may not specify more than 1 volume type")
            for key in sources[1:]
        ]
        host = volume.get("hostPath")
        if host is not None and not host.get("path"):
            found.append(required(f"{where}.hostPath.path"))
    return names


def _container(
    container: Json, where: str, names: set[str], place: tuple[Json, set[str]]
) -> Iterator[Any]:
    spec, volumes = place
    name = container.get("name", "")
    if not name:
        yield required(f"{where}.name")
    elif len(name) > _NAME_LIMIT:
        yield invalid(f"{where}.name", name, f"must be no more than {_NAME_LIMIT} characters")
    else:
        yield from (invalid(f"{where}.name", name, each) for each in dns_label(name))
    if name in names:
        yield duplicate(f"{where}.name", name)
    names.add(name)
    image = container.get("image", "")
    if not image:
        yield required(f"{where}.image")
    elif image != image.strip():
        yield invalid(f"{where}.image", image, "must not have leading or trailing whitespace")
    yield from _ports(container, where, spec)
    yield from _environment(container, where)
    yield from _mounts(container, where, volumes)
    for word in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(word):
            yield from _probe(container[word], f"{where}.{word}", word)
    yield from one_of(container.get("imagePullPolicy"), f"{where}.imagePullPolicy", _PULLS)
    yield from check_resources(container.get("resources") or {}, f"{where}.resources")


def _ports(container: Json, where: str, spec: Json) -> Iterator[Any]:
    seen: set[str] = set()
    for index, port in enumerate(container.get("ports") or ()):
        here, name = f"{where}.ports[{index}]", port.get("name", "")
        if name:
            yield from (invalid(f"{here}.name", name, each) for each in _port_name(name))
            if name in seen:
                yield duplicate(f"{here}.name", name)
            seen.add(name)
        yield from port_number(port.get("containerPort"), f"{here}.containerPort")
        host = port.get("hostPort")
        if host:
            yield from port_number(host, f"{here}.hostPort")
            if spec.get("hostNetwork") and host != port.get("containerPort"):
                detail = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{here}.hostPort", host, detail)
        yield from one_of(port.get("protocol"), f"{here}.protocol", _PROTOCOLS)


def _port_name(name: str) -> list[str]:
    found = []
    if len(name) > _PORT_NAME_LIMIT:
        found.append(f"must be no more than {_PORT_NAME_LIMIT} characters")
    if not all(each.isdigit() or each.islower() or each == "-" for each in name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any(each.islower() for each in name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def _environment(container: Json, where: str) -> Iterator[Any]:
    for index, variable in enumerate(container.get("env") or ()):
        here = f"{where}.env[{index}]"
        if not variable.get("name"):
            yield required(f"{here}.name")
        source = variable.get("valueFrom")
        if source is not None:
            if variable.get("value"):
                detail = "may not be specified when `value` is not empty"
                yield invalid(f"{here}.valueFrom", "", detail)
            elif len(source) > 1:
                detail = "may not have more than one field specified at a time"
                yield invalid(f"{here}.valueFrom", "", detail)


def _mounts(container: Json, where: str, volumes: set[str]) -> Iterator[Any]:
    paths: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here, name = f"{where}.volumeMounts[{index}]", mount.get("name", "")
        if not name:
            yield required(f"{here}.name")
        elif name not in volumes:
            yield missing(f"{here}.name", name)
        path = mount.get("mountPath", "")
        if not path:
            yield required(f"{here}.mountPath")
        elif path in paths:
            yield invalid(f"{here}.mountPath", path, "must be unique")
        paths.add(path)


_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")


def _probe(probe: Json, where: str, word: str) -> Iterator[Any]:
    handlers = [each for each in _HANDLERS if probe.get(each) is not None]
    if not handlers:
        yield required(where, "must specify a handler type")
    for each in handlers[1:]:
        yield forbidden(f"{where}.{each}", "may not specify more than 1 handler type")
    if "exec" in handlers and not (probe["exec"] or {}).get("command"):
        yield required(f"{where}.exec.command")
    for each in ("tcpSocket", "httpGet"):
        if each in handlers and isinstance(probe[each].get("port"), int):
            yield from port_number(probe[each]["port"], f"{where}.{each}.port")
    if word != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        yield invalid(f"{where}.successThreshold", probe["successThreshold"], "must be 1")


def _names(spec: Json, path: str) -> Iterator[Any]:
    for key, value in (spec.get("nodeSelector") or {}).items():
        where = f"{path}.nodeSelector"
        yield from (invalid(where, key, each) for each in qualified_name(key))
        yield from (invalid(where, value, each) for each in label_value(value))
    for name in ("nodeName", "serviceAccountName"):
        value = spec.get(name)
        if value:
            yield from (invalid(f"{path}.{name}", value, each) for each in dns_subdomain(value))
    for name in ("hostname", "subdomain"):
        value = spec.get(name)
        if value:
            texts = [each.replace("bytes", "characters") for each in dns_label(value)]
            yield from (invalid(f"{path}.{name}", value, each) for each in texts)
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None" and config is None:
        detail = "must provide `dnsConfig` when `dnsPolicy` is None"
        yield required(f"{path}.dnsConfig", detail)
    for index, server in enumerate((config or {}).get("nameservers") or ()):
        if not is_address(server):
            detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            yield invalid(f"{path}.dnsConfig.nameservers[{index}]", server, detail)


def _affinity(affinity: Json, path: str) -> Iterator[Any]:
    wanted = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if wanted is not None and not wanted.get("nodeSelectorTerms"):
        where = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        detail = "must have at least one node selector term"
        yield required(f"{where}.nodeSelectorTerms", detail)
    for word in ("podAffinity", "podAntiAffinity"):
        name = "requiredDuringSchedulingIgnoredDuringExecution"
        for index, term in enumerate((affinity.get(word) or {}).get(name) or ()):
            where = f"{path}.{word}.{name}[{index}]"
            key = term.get("topologyKey", "")
            if not key:
                yield required(f"{where}.topologyKey", "can not be empty")
            yield from (invalid(f"{where}.topologyKey", key, each) for each in qualified_name(key))
            yield from check_selector(term.get("labelSelector"), f"{where}.labelSelector")


def _tolerations(tolerations: list[Json], path: str) -> Iterator[Any]:
    for index, each in enumerate(tolerations):
        where, operator = f"{path}[{index}]", each.get("operator")
        if not each.get("key") and operator != "Exists":
            detail = (
                'operator must be Exists when `key` is empty, which means "match all values and '
                'all keys"'
            )
            yield invalid(f"{where}.operator", operator or "", detail)
        if operator == "Exists" and each.get("value"):
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{where}.operator", each["value"], detail)
        if each.get("effect") and each["effect"] not in _EFFECTS:
            yield unsupported(f"{where}.effect", each["effect"], _EFFECTS)


def _spread(constraints: list[Json], path: str) -> Iterator[Any]:
    for index, each in enumerate(constraints):
        where = f"{path}.topologySpreadConstraints[{index}]"
        if each.get("maxSkew", 0) <= 0:
            yield invalid(f"{where}.maxSkew", each.get("maxSkew", 0), "must be greater than zero")
        when = each.get("whenUnsatisfiable")
        yield from one_of(when, f"{where}.whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"))
        least = each.get("minDomains")
        if least is not None and when != "DoNotSchedule":
            detail = (
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
            )
            yield invalid(f"{where}.minDomains", least, detail)
