"""Rules of pods and of the specs of pod templates."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.addresses import address_problems
from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    first_errors,
    forbidden,
    invalid,
    required,
)
from stretto.api.checks.fields.texts import (
    dns_label,
    dns_subdomain,
    qualified_name,
    search_domain,
)
from stretto.api.checks.kinds.pods.containers import (
    PodFrame,
    check_containers,
    check_ephemeral,
    check_init_containers,
    check_shared_ports,
)
from stretto.api.checks.kinds.pods.placement import (
    check_affinity,
    check_node_selector_labels,
    check_spread,
    check_tolerations,
)
from stretto.api.checks.kinds.pods.references import check_file_refs
from stretto.api.checks.kinds.pods.security import check_pod_security
from stretto.api.checks.kinds.pods.sources import check_volumes
from stretto.api.checks.kinds.pods.systems import (
    check_host_name,
    check_host_processes,
    check_host_users,
    check_system,
)
from stretto.api.checks.kinds.pods.updates import check_pod_update, check_resize
from stretto.api.checks.kinds.resources import check_pod_resources, check_resources
from stretto.api.checks.kinds.values import PREEMPTION_POLICIES, Json, one_of

_RESTARTS: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_SECONDS: Final = 2**31 - 1
_MIRROR: Final = "kubernetes.io/config.mirror"
_MAX_NAMESERVERS: Final = 3
_MAX_SEARCHES: Final = 32


def check_pod(item: Json, old: Json | None) -> Errors:
    """Check a pod."""
    spec = item.get("spec") or {}
    if old is not None:
        checked = [*check_pod_spec(spec, "spec"), *_tokens(spec)]
        return [*checked, *check_pod_update(item, old)]
    notes = item["metadata"].get("annotations") or {}
    found: Errors = []
    if _MIRROR in notes and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(f"metadata.annotations[{_MIRROR}]", notes[_MIRROR], detail))
    found += [*check_pod_spec(spec, "spec"), *_tokens(spec)]
    if spec.get("ephemeralContainers"):
        detail = "cannot be set on create"
        found.append(forbidden("spec.ephemeralContainers", detail))
    if spec.get("schedulingGates") and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        found.append(forbidden("spec.nodeName", detail))
    return found


def check_pod_resize(item: Json, old: Json) -> Errors:
    """Check a resize of a pod, and the pod itself."""
    spec = item.get("spec") or {}
    return [*check_pod_spec(spec, "spec"), *_tokens(spec), *check_resize(item, old)]


def _tokens(spec: Json) -> Iterator[Any]:
    """Refuse tokens of a pod without a service account; a template may omit the account."""
    if spec.get("serviceAccountName"):
        return
    for index, volume in enumerate(spec.get("volumes") or ()):
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                where = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                yield forbidden(where, "must not be specified when serviceAccountName is not set")


def check_pod_spec(spec: Json, path: str) -> Errors:
    """Check the spec of a pod or of a template."""
    return first_errors(_spec(spec, path))


def _spec(spec: Json, path: str) -> Iterator[Any]:
    volumes: set[str] = set()
    if spec.get("volumes"):
        yield from check_volumes(spec["volumes"], f"{path}.volumes", volumes)
    claims = spec.get("resourceClaims") or []
    yield from _claims(claims, f"{path}.resourceClaims")
    frame = PodFrame(
        spec,
        frozenset(volumes),
        frozenset(each.get("name", "") for each in claims),
    )
    names: set[str] = set()
    containers = spec.get("containers") or []
    yield from check_containers(containers, f"{path}.containers", names, frame)
    if spec.get("initContainers"):
        where = f"{path}.initContainers"
        yield from check_init_containers(spec["initContainers"], where, names, frame)
    if spec.get("ephemeralContainers"):
        where = f"{path}.ephemeralContainers"
        yield from check_ephemeral(spec["ephemeralContainers"], where, names, frame)
    if spec.get("resources") and (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(f"{path}.resources", "may not be set for a windows pod")
    elif spec.get("resources"):
        yield from check_pod_resources(spec["resources"], f"{path}.resources", frame.claims)
    if "hostNetwork" in spec:
        yield from check_shared_ports(spec, path)
    yield from one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", _RESTARTS)
    yield from one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS)
    if spec.get("nodeSelector"):
        yield from check_node_selector_labels(spec["nodeSelector"], f"{path}.nodeSelector")
    yield from check_pod_security(spec, path)
    if spec.get("affinity"):
        yield from check_affinity(spec["affinity"], f"{path}.affinity")
    yield from _dns(spec, f"{path}.dnsConfig")
    yield from _gates(spec, path)
    if spec.get("topologySpreadConstraints"):
        constraints = spec["topologySpreadConstraints"]
        yield from check_spread(constraints, f"{path}.topologySpreadConstraints")
    yield from check_host_processes(spec, path)
    yield from check_host_users(spec, path)
    yield from check_host_name(spec, path)
    yield from _names(spec, path)
    if spec.get("tolerations"):
        yield from check_tolerations(spec["tolerations"], f"{path}.tolerations")
    yield from _rest(spec, path)


def _dns(spec: Json, path: str) -> Iterator[Any]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            detail = "must provide `dnsConfig` when `dnsPolicy` is None"
            yield required(path, detail)
        elif not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", detail)
    if not config:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        yield invalid(f"{path}.nameservers", servers, detail)
    for index, server in enumerate(servers):
        for problem in address_problems(server):
            yield invalid(f"{path}.nameservers[{index}]", server, problem)
    if len(searches) > _MAX_SEARCHES:
        detail = f"must not have more than {_MAX_SEARCHES} search paths"
        yield invalid(f"{path}.searches", searches, detail)
    for index, domain in enumerate(searches):
        for problem in search_domain(domain):
            yield invalid(f"{path}.searches[{index}]", domain, problem)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def _gates(spec: Json, path: str) -> Iterator[Any]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        for problem in qualified_name(kind):
            yield invalid(f"{path}.readinessGates[{index}].conditionType", kind, problem)
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        where, name = f"{path}.schedulingGates[{index}]", gate.get("name", "")
        for problem in qualified_name(name):
            yield invalid(where, name, problem)
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)


def _names(spec: Json, path: str) -> Iterator[Any]:
    for name in ("serviceAccountName", "nodeName"):
        value = spec.get(name)
        if value:
            yield from (invalid(f"{path}.{name}", value, each) for each in dns_subdomain(value))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _SECONDS:
        detail = f"must be between 1 and {_SECONDS}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, detail)
    for name in ("hostname", "subdomain"):
        value = spec.get(name)
        if value:
            yield from (invalid(f"{path}.{name}", value, each) for each in dns_label(value))


def _rest(spec: Json, path: str) -> Iterator[Any]:
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        where = f"{path}.hostAliases[{index}]"
        address = alias.get("ip", "")
        yield from (invalid(f"{where}.ip", address, each) for each in address_problems(address))
        for place, name in enumerate(alias.get("hostnames") or ()):
            here = f"{where}.hostnames[{place}]"
            yield from (invalid(here, name, each) for each in dns_subdomain(name))
    for name in ("priorityClassName", "runtimeClassName"):
        value = spec.get(name)
        if value is not None:
            yield from (invalid(f"{path}.{name}", value, each) for each in dns_subdomain(value))
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        where = f"{path}.preemptionPolicy"
        yield from one_of(policy, where, PREEMPTION_POLICIES) if policy else [required(where)]
    if spec.get("overhead"):
        yield from check_resources({"limits": spec["overhead"]}, f"{path}.overhead")
    yield from check_system(spec, path)
    yield from check_file_refs(spec, path)


def _claims(claims: list[Json], path: str) -> Iterator[Any]:
    """Check the resource claims of a pod: distinct names, and one reference each."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            yield required(f"{where}.name")
        elif name in seen:
            yield duplicate(f"{where}.name", name)
        else:
            yield from (invalid(f"{where}.name", name, each) for each in dns_label(name))
        seen.add(name)
        stated = [each for each in _CLAIM_REFS if claim.get(each) is not None]
        if len(stated) != 1:
            shown = {"Name": name, **{f"R{each[1:]}": claim.get(each) for each in _CLAIM_REFS}}
            yield invalid(where, shown, _MANY_REFS if stated else _NO_REF)
        for each in stated:
            for problem in dns_subdomain(claim[each]):
                yield invalid(f"{where}.{each}", claim[each], problem)


_CLAIM_REFS: Final = ("resourceClaimName", "resourceClaimTemplateName")
_MANY_REFS: Final = (
    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
)
_NO_REF: Final = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
