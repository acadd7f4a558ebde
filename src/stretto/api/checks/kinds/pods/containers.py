"""Rules of containers: image, ports, environment, mounts, resources, security."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    missing,
    required,
    too_many,
)
from stretto.api.checks.fields.shapes import choice
from stretto.api.checks.fields.texts import dns_label, dns_subdomain, env_name, port_name
from stretto.api.checks.kinds.pods.mounts import block_volumes, check_devices, check_mounts
from stretto.api.checks.kinds.pods.probes import check_lifecycle, check_probes
from stretto.api.checks.kinds.pods.references import (
    RefCheck,
    check_field_ref,
    check_file_ref,
    check_key_ref,
    check_resource_ref,
)
from stretto.api.checks.kinds.pods.security import check_container_security
from stretto.api.checks.kinds.resources import check_claims, check_resources
from stretto.api.checks.kinds.values import PROTOCOLS, Json, one_of, port_number

_PULLS: Final = ("Always", "IfNotPresent", "Never")
_RESTARTS: Final = ("Always", "Never", "OnFailure")
_NAME_LIMIT: Final = 63
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESIZED: Final = ("cpu", "memory")
_RESIZES: Final = ("NotRequired", "RestartContainer")
_ACTIONS: Final = choice("Restart", "RestartAllContainers")
_ONE_SOURCE: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
    "`fileKeyRef`"
)


@dataclass(frozen=True)
class PodFrame:
    """The parts of a pod that the rules of its containers read."""

    #: The spec of the pod.
    spec: Json
    #: Names of its volumes.
    volumes: frozenset[str]
    #: Names of its resource claims.
    claims: frozenset[str]

    @cached_property
    def blocks(self) -> Mapping[str, bool]:
        """Whether a block device may use each of its volumes, by name."""
        return block_volumes(self.spec)

    @property
    def uses_host_users(self) -> bool:
        """Return whether the pod uses the user namespace of its node."""
        return self.spec.get("hostUsers") is not False


def check_container(container: Json, where: str, frame: PodFrame) -> Iterator[Any]:
    """Check the rules that all kinds of containers have in common."""
    name, image = container.get("name", ""), container.get("image", "")
    if not name:
        yield required(f"{where}.name")
    elif len(name) > _NAME_LIMIT:
        yield invalid(f"{where}.name", name, f"must be no more than {_NAME_LIMIT} characters")
    else:
        yield from (invalid(f"{where}.name", name, each) for each in dns_label(name))
    if not image:
        yield required(f"{where}.image")
    elif image != image.strip() and where.startswith("spec.") and ".template." not in where:
        yield invalid(f"{where}.image", image, "must not have leading or trailing whitespace")
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        yield from one_of(policy, f"{where}.terminationMessagePolicy", _MESSAGE_POLICIES)
    if container.get("ports"):
        yield from _ports(container["ports"], where)
    if container.get("env"):
        yield from _environment(container["env"], where)
    if container.get("envFrom"):
        yield from _sources(container["envFrom"], f"{where}.envFrom")
    if container.get("volumeMounts"):
        yield from check_mounts(container, where, frame.volumes)
    if container.get("volumeDevices"):
        yield from check_devices(container, where, frame.blocks)
    pull = container.get("imagePullPolicy")
    if pull not in _PULLS:
        yield from one_of(pull, f"{where}.imagePullPolicy", _PULLS)
    if container.get("resources"):
        yield from check_resources(container["resources"], f"{where}.resources")
        yield from check_claims(container["resources"], f"{where}.resources", frame.claims)
    if container.get("resizePolicy"):
        yield from _resize(container["resizePolicy"], f"{where}.resizePolicy", frame.spec)
    if container.get("securityContext"):
        yield from check_container_security(
            container["securityContext"],
            f"{where}.securityContext",
            uses_host_users=frame.uses_host_users,
        )


_RARE: Final = frozenset(
    {
        "restartPolicy", "restartPolicyRules", "lifecycle", "livenessProbe", "readinessProbe",
        "startupProbe",
    }
)  # fmt: skip
"""Members of containers that most containers do not have."""


def check_containers(
    items: list[Json], path: str, names: set[str], frame: PodFrame
) -> Iterator[Any]:
    """Check the containers of a pod."""
    if not items:
        yield required(path)
    grace = frame.spec.get("terminationGracePeriodSeconds") or 0
    for index, container in enumerate(items):
        where = f"{path}[{index}]"
        yield from check_container(container, where, frame)
        yield from _once(container, where, names)
        if not _RARE.isdisjoint(container):
            yield from _restart(container, where)
            if container.get("lifecycle"):
                yield from check_lifecycle(container["lifecycle"], f"{where}.lifecycle", grace)
            yield from check_probes(container, where, grace)
    yield from _host_ports(items, path)


_RESTARTED: Final = "RestartContainer"


def check_init_containers(
    items: list[Json], path: str, names: set[str], frame: PodFrame
) -> Iterator[Any]:
    """Check the init containers of a pod; only restartable ones have probes and hooks."""
    grace = frame.spec.get("terminationGracePeriodSeconds") or 0
    for index, container in enumerate(items):
        where = f"{path}[{index}]"
        yield from check_container(container, where, frame)
        yield from _restart(container, where, is_first=True)
        yield from _once(container, where, names)
        if container.get("restartPolicy") == "Always":
            if container.get("lifecycle"):
                yield from check_lifecycle(container["lifecycle"], f"{where}.lifecycle", grace)
            yield from check_probes(container, where, grace)
            continue
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                detail = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{where}.{name}", detail)
        for number, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == _RESTARTED:
                detail = f"must not be set to '{_RESTARTED}' for non-sidecar initContainers"
                place = f"{where}.resizePolicy[{number}].restartPolicy"
                yield invalid(place, _RESTARTED, detail)


def _restart(container: Json, where: str, *, is_first: bool = False) -> Iterator[Any]:
    """Check the restart policy of one container, or of an init container; it is optional."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is not None:
        yield from one_of(policy, f"{where}.restartPolicy", _RESTARTS)
    elif rules:
        detail = "must specify restartPolicy when restart rules are used"
        yield required(f"{where}.restartPolicy", detail)
        if is_first:
            return
    if len(rules) > _MOST_RULES:
        yield too_many(f"{where}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        here, codes = f"{where}.restartPolicyRules[{index}]", rule.get("exitCodes")
        yield from _ACTIONS(rule.get("action", ""), f"{here}.action")
        if codes is None:
            yield required(f"{here}.exitCodes", "must be specified")
        else:
            operator = codes.get("operator", "")
            yield from one_of(operator, f"{here}.exitCodes.operator", ("In", "NotIn"))
            count = len(codes.get("values") or ())
            if count > _MOST_CODES:
                yield too_many(f"{here}.exitCodes.values", count, _MOST_CODES)


def _once(container: Json, where: str, names: set[str]) -> Iterator[Any]:
    name = container.get("name", "")
    if name in names:
        yield duplicate(f"{where}.name", name)
    elif name:
        names.add(name)


def _host_ports(items: list[Json], path: str) -> Iterator[Any]:
    """Check that no two containers use the same host port."""
    taken: set[str] = set()
    for index, container in enumerate(items):
        for number, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                shown = f"{port.get('protocol')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if shown in taken:
                    yield duplicate(f"{path}[{index}].ports[{number}].hostPort", shown)
                taken.add(shown)


def check_shared_ports(spec: Json, path: str) -> Iterator[Any]:
    """Check the host ports of a pod in the network of its node; a template may omit them."""
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (host or path == "spec") and host != port.get("containerPort", 0):
                where = f"{path}.containers[{index}].ports[{number}].hostPort"
                yield invalid(where, host, "must match `containerPort` when `hostNetwork` is true")


def _ports(ports: list[Json], where: str) -> Iterator[Any]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"{where}.ports[{index}]", port.get("name", "")
        if name:
            problems = port_name(name)
            yield from (invalid(f"{here}.name", name, each) for each in problems)
            if not problems and name in seen:
                yield duplicate(f"{here}.name", name)
            seen.add(name)
        if not port.get("containerPort"):
            yield required(f"{here}.containerPort")
        else:
            yield from port_number(port["containerPort"], f"{here}.containerPort")
        host = port.get("hostPort")
        if host:
            yield from port_number(host, f"{here}.hostPort")
        yield from one_of(port.get("protocol"), f"{here}.protocol", PROTOCOLS)


def _environment(variables: list[Json], where: str) -> Iterator[Any]:
    for index, variable in enumerate(variables):
        here, name = f"{where}.env[{index}]", variable.get("name", "")
        if not name:
            yield required(f"{here}.name")
        else:
            yield from (invalid(f"{here}.name", name, each) for each in env_name(name))
        source = variable.get("valueFrom")
        if source is not None:
            yield from _value_from(variable, f"{here}.valueFrom")


def _value_from(variable: Json, path: str) -> Iterator[Any]:
    source = variable["valueFrom"]
    checks: dict[str, RefCheck] = {
        "fieldRef": check_field_ref,
        "resourceFieldRef": check_resource_ref,
        "configMapKeyRef": check_key_ref,
        "secretKeyRef": check_key_ref,
        "fileKeyRef": check_file_ref,
    }
    given = [name for name in checks if source.get(name) is not None]
    for name in given:
        yield from checks[name](source[name], f"{path}.{name}")
    if not given and not source:
        yield invalid(path, "", _ONE_SOURCE)
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _sources(sources: list[Json], path: str) -> Iterator[Any]:
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        if source.get("prefix"):
            for problem in env_name(source["prefix"]):
                yield invalid(f"{where}.prefix", source["prefix"], problem)
        for name in given:
            value = source[name].get("name", "")
            if not value:
                yield required(f"{where}.{name}.name")
            else:
                problems = dns_subdomain(value)
                yield from (invalid(f"{where}.{name}.name", value, each) for each in problems)
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


def _resize(policies: list[Json], path: str, spec: Json) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            found.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        found += one_of(name, path, _RESIZED) if name else [required(path)]
        found += one_of(restart, path, _RESIZES) if restart else [required(path)]
        if spec.get("restartPolicy") == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.append(invalid(path, restart, detail))
    return found


_FORBIDDEN: Final = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_POINTERS: Final = frozenset(
    {"restartPolicy", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}
)
"""Members that are set although they are empty."""


def check_ephemeral(
    items: list[Json], path: str, names: set[str], frame: PodFrame
) -> Iterator[Any]:
    """Check the ephemeral containers of a pod."""
    known = {
        each.get("name", "")
        for word in ("containers", "initContainers")
        for each in frame.spec.get(word) or ()
    }
    for index, container in enumerate(items):
        where, name = f"{path}[{index}]", container.get("name", "")
        yield from check_container(container, where, frame)
        if name in names:
            yield duplicate(f"{where}.name", name)
        elif name:
            names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in known:
            yield missing(f"{where}.targetContainerName", target)
        for word in _FORBIDDEN:
            value = container.get(word)
            if value or (word in _POINTERS and value is not None):
                detail = "cannot be set for an Ephemeral Container"
                yield forbidden(f"{where}.{word}", detail)
        for mount, item in enumerate(container.get("volumeMounts") or ()):
            if item.get("subPath") or item.get("subPathExpr"):
                word = "subPath" if item.get("subPath") else "subPathExpr"
                detail = "cannot be set for an Ephemeral Container"
                yield forbidden(f"{where}.volumeMounts[{mount}].{word}", detail)
