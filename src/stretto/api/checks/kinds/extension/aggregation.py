"""Rules of APIServices, flow control and certificate requests."""

import base64
import binascii
import re
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    repeated,
    required,
    unsupported,
)
from stretto.api.checks.fields.texts import dns_1035, dns_label, dns_subdomain, path_segment
from stretto.api.checks.kinds.values import Json, not_negative

_GROUP_LIMIT: Final = 20_000
_VERSION_LIMIT: Final = 1000
_MOST_PRECEDENCE: Final = 10_000
_VERBS: Final = (
    "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch",
)  # fmt: skip


def check_api_service_status(item: Json, _old: Json) -> Errors:
    """Check the conditions of an APIService."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return [
        unsupported(f"status.conditions[{index}].status", each.get("status", ""), _TRUTHS)
        for index, each in enumerate(conditions)
        if each.get("status") not in _TRUTHS
    ]


_TRUTHS: Final = ("True", "False", "Unknown")
"""Statuses of conditions."""


def check_api_service(item: Json, _old: Json | None) -> Errors:
    """Check an APIService."""
    spec = item.get("spec") or {}
    group, version = spec.get("group", ""), spec.get("version", "")
    found: Errors = []
    expected = f"{version}.{group}"
    for field in ("generateName", "name"):
        name = item["metadata"].get(field, "")
        if name and name != expected and not path_segment(name):
            detail = f'must be `spec.version+"."+spec.group`: "{expected}"'
            found.append(invalid(f"metadata.{field}", name, detail))
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        found.append(required("spec.group", detail))
    if group:
        found += [invalid("spec.group", group, each) for each in dns_subdomain(group)]
    found += [
        invalid("spec.version", version, each.replace("63 bytes", "63 characters"))
        for each in dns_1035(version)
    ]
    first, second = spec.get("groupPriorityMinimum") or 0, spec.get("versionPriority") or 0
    if not 0 < first <= _GROUP_LIMIT:
        detail = f"must be positive and less than {_GROUP_LIMIT}"
        found.append(invalid("spec.groupPriorityMinimum", first, detail))
    if not 0 < second <= _VERSION_LIMIT:
        detail = f"must be positive and less than {_VERSION_LIMIT}"
        found.append(invalid("spec.versionPriority", second, detail))
    service = spec.get("service")
    if service is None:
        if spec.get("caBundle"):
            detail = "local APIServices may not have a caBundle"
            found.append(invalid("spec.caBundle", "<cert data>", detail))
        if spec.get("insecureSkipTLSVerify"):
            detail = "local APIServices may not have insecureSkipTLSVerify"
            found.append(invalid("spec.insecureSkipTLSVerify", True, detail))
        return found
    found += [required(f"spec.service.{n}") for n in ("namespace", "name") if not service.get(n)]
    port = service.get("port", 443)
    if not 1 <= port <= 65_535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(invalid("spec.service.port", port, detail))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        detail = "may not be true if caBundle is present"
        found.append(invalid("spec.insecureSkipTLSVerify", True, detail))
    return found


def check_flow_status(item: Json, _old: Json) -> Errors:
    """Check the conditions of a FlowSchema or a PriorityLevelConfiguration."""
    found: Errors = []
    kinds = [each.get("type", "") for each in (item.get("status") or {}).get("conditions") or ()]
    again = repeated(kinds)
    for index, kind in enumerate(kinds):
        path = f"status.conditions[{index}].type"
        if index in again:
            found.append(duplicate(path, kind))
        if not kind:
            found.append(required(path))
    return found


def check_flow_schema(item: Json, _old: Json | None) -> Errors:
    """Check a FlowSchema."""
    spec = item.get("spec") or {}
    found: Errors = []
    precedence = spec.get("matchingPrecedence") or 0
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        found.append(invalid(path, precedence, "must be a positive value"))
    if precedence > _MOST_PRECEDENCE:
        detail = f"must not be greater than {_MOST_PRECEDENCE}"
        found.append(invalid(path, precedence, detail))
    if precedence == 1 and item["metadata"].get("name") != "exempt":
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        found.append(invalid(path, precedence, detail))
    method = spec.get("distinguisherMethod")
    if method is not None:
        kinds, kind = ("ByNamespace", "ByUser"), method.get("type", "")
        if kind not in kinds:
            found.append(unsupported("spec.distinguisherMethod.type", {"Type": kind}, kinds))
    name = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    path = "spec.priorityLevelConfiguration.name"
    if not name:
        found.append(required(path, "must reference a priority level"))
    else:
        found += [invalid(path, name, each) for each in dns_subdomain(name)]
    for index, rule in enumerate(spec.get("rules") or ()):
        found += _flow_rule(rule, f"spec.rules[{index}]")
    return found


def _flow_rule(rule: Json, path: str) -> Errors:
    found: Errors = []
    subjects = rule.get("subjects") or []
    if not subjects:
        detail = "subjects must contain at least one value"
        found.append(required(f"{path}.subjects", detail))
    members = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
    for index, subject in enumerate(subjects):
        where, kind = f"{path}.subjects[{index}]", subject.get("kind", "")
        if kind not in members:
            found.append(unsupported(f"{where}.kind", kind, ("Group", "ServiceAccount", "User")))
            continue
        for word, name in members.items():
            if word == kind and subject.get(name) is None:
                detail = f"{name} is required when subject kind is '{kind}'"
                found.append(required(f"{where}.{name}", detail))
            elif word != kind and subject.get(name) is not None:
                detail = f"{name} is forbidden when subject kind is not '{word}'"
                found.append(forbidden(f"{where}.{name}", detail))
    resources, urls = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not urls:
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        found.append(required(path, detail))
    for index, each in enumerate(resources):
        found += _resource_rule(each, f"{path}.resourceRules[{index}]")
    for index, each in enumerate(urls):
        where = f"{path}.nonResourceRules[{index}]"
        found += _verbs(each.get("verbs") or [], f"{where}.verbs")
        found += _paths(each.get("nonResourceURLs") or [], f"{where}.nonResourceURLs")
    return found


def _paths(paths: list[str], where: str) -> Errors:
    """Check paths of requests that name no resource; a wildcard stands alone, or at an end."""
    if not paths:
        return [required(where, "nonResourceURLs must contain at least one value")]
    if "*" in paths:
        detail = "if '*' is present, must not specify other non-resource URLs"
        return [invalid(where, paths, detail)] if len(paths) > 1 else []
    return [
        invalid(f"{where}[{index}]", path, problem)
        for index, path in enumerate(paths)
        if (problem := _path_problem(path))
    ]


def _path_problem(path: str) -> str:
    """Return the first problem of a path; empty without one."""
    checks = {
        "must not be empty": not path,
        "must start with slash": not path.startswith("/"),
        "must not contain white-space": " " in path,
        "must not contain double slash": "//" in path,
        "wildcard can only do suffix matching": "*" in path.removesuffix("/*"),
    }
    return next((detail for detail, applies in checks.items() if applies), "")


def _resource_rule(rule: Json, path: str) -> Errors:
    found = _verbs(rule.get("verbs") or [], f"{path}.verbs")
    for name, detail in (
        ("apiGroups", "resource rules must supply at least one api group"),
        ("resources", "resource rules must supply at least one resource"),
    ):
        values = rule.get(name) or []
        if not values:
            found.append(required(f"{path}.{name}", detail))
        elif len(values) > 1 and "*" in values:
            detail = "if '*' is present, must not specify other "
            detail += "api groups" if name == "apiGroups" else "resources"
            found.append(invalid(f"{path}.{name}", values, detail))
    return found + _namespaces(rule, f"{path}.namespaces")


def _namespaces(rule: Json, path: str) -> Errors:
    names = rule.get("namespaces") or []
    if not names and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        return [required(path, detail)]
    if "*" in names:
        detail = "if '*' is present, must not specify other namespaces"
        return [invalid(path, names, detail)] if len(names) > 1 else []
    start = "each member of this list must be '*' or a DNS-1123 label; "
    return [
        invalid(f"{path}[{index}]", name, f"{start}{problem}")
        for index, name in enumerate(names)
        for problem in dns_label(name)
    ]


def _verbs(verbs: list[str], path: str) -> Errors:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        if len(verbs) == 1:
            return []
        return [invalid(path, verbs, "if '*' is present, must not specify other verbs")]
    if not set(verbs) <= set(_VERBS):
        return [unsupported(path, verbs, _VERBS)]
    return []


def check_priority_level(item: Json, _old: Json | None) -> Errors:
    """Check a PriorityLevelConfiguration."""
    spec = item.get("spec") or {}
    name, kind = item["metadata"].get("name", ""), spec.get("type", "")
    found: Errors = []
    if (name == "exempt") != (kind == "Exempt"):
        detail = "must be 'Exempt' if and only if `name` is 'exempt'"
        found.append(invalid("spec.type", kind, detail))
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if limited is not None:
            detail = "must be nil if the type is not Limited"
            found.append(forbidden("spec.limited", detail))
        if exempt is not None:
            for word in ("nominalConcurrencyShares", "lendablePercent"):
                found += not_negative(exempt.get(word), f"spec.exempt.{word}")
    elif kind == "Limited":
        if exempt is not None:
            detail = "must be nil if the type is Limited"
            found.append(forbidden("spec.exempt", detail))
        if limited is None:
            detail = "must not be empty when type is Limited"
            found.append(required("spec.limited", detail))
        else:
            found += _limited(limited)
    else:
        known = ("Exempt", "Limited")
        found.append(unsupported("spec.type", kind, known) if kind else required("spec.type"))
    return found


def _limited(limited: Json) -> Errors:
    path = "spec.limited"
    found: Errors = []
    shares = limited.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        detail = "must be a non-negative integer"
        found.append(invalid(f"{path}.nominalConcurrencyShares", shares, detail))
    lendable = limited.get("lendablePercent")
    if lendable is not None and not 0 <= lendable <= 100:
        detail = "must be between 0 and 100, inclusive"
        found.append(invalid(f"{path}.lendablePercent", lendable, detail))
    response = limited.get("limitResponse") or {}
    where, kind = f"{path}.limitResponse", response.get("type", "")
    queuing = response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            detail = "must be nil if limited.limitResponse.type is not Limited"
            found.append(forbidden(f"{where}.queuing", detail))
    elif kind == "Queue":
        if queuing is None:
            detail = "must not be empty if limited.limitResponse.type is Limited"
            found.append(required(f"{where}.queuing", detail))
        else:
            found += _queuing(queuing, f"{where}.queuing")
    elif not kind:
        found.append(required(f"{where}.type"))
    else:
        found.append(unsupported(f"{where}.type", kind, ("Queue", "Reject")))
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        detail = "if specified, must be a non-negative integer"
        found.append(invalid(f"{path}.borrowingLimitPercent", borrowing, detail))
    return found


def _queuing(queuing: Json, path: str) -> Errors:
    found: Errors = []
    for name in ("queueLengthLimit", "queues"):
        value = queuing.get(name) or 0
        if value <= 0:
            found.append(invalid(f"{path}.{name}", value, "must be positive"))
    hand, queues = queuing.get("handSize") or 0, queuing.get("queues") or 0
    if hand <= 0:
        found.append(invalid(f"{path}.handSize", hand, "must be positive"))
    if hand > queues:
        detail = f"should not be greater than queues ({queues})"
        found.append(invalid(f"{path}.handSize", hand, detail))
    return found


_USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign",
    "data encipherment", "decipher only", "digital signature", "email protection",
    "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
    "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth",
    "signing", "timestamping",
)  # fmt: skip
_BEGIN: Final = re.compile(rb"^-----BEGIN ([^\n]*)-----[ \t\r]*\n", re.MULTILINE)
_END: Final = re.compile(rb"-----END ([^\n]*?)-----")
_REQUEST: Final = b"CERTIFICATE REQUEST"
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_DECISIONS: Final = ("Approved", "Denied", "Failed")


def check_signing_request(item: Json, old: Json | None) -> Errors:
    """Check a CertificateSigningRequest."""
    spec = item.get("spec") or {}
    if old is not None:
        return _changed_conditions(item, old, frozenset())
    found: Errors = []
    if _block_type(_decoded(spec.get("request"))) != _REQUEST:
        detail = "PEM block type must be CERTIFICATE REQUEST"
        found.append(invalid("spec.request", spec.get("request"), detail))
    usages = spec.get("usages") or []
    if not usages:
        found.append(required("spec.usages"))
    again = repeated(usages)
    for index, usage in enumerate(usages):
        where = f"spec.usages[{index}]"
        if usage not in _USAGES:
            found.append(unsupported(where, usage, _USAGES))
        if index in again:
            found.append(duplicate(where, usage))
    found += _signer(spec.get("signerName", ""))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(invalid("spec.expirationSeconds", seconds, detail))
    return found


def _block_type(text: bytes) -> bytes | None:
    """Return the type of the first PEM block that has an end; ``None`` without one."""
    ends = {each[1]: each.start() for each in _END.finditer(text)}
    lines = _BEGIN.finditer(text) if ends else ()
    begins = (each for each in lines if ends.get(each[1], -1) >= each.end())
    return next((each[1] for each in begins), None)


def _signer(name: str) -> Errors:
    path = "spec.signerName"
    if not name:
        return [required(path)]
    if name == "kubernetes.io/legacy-unknown":
        return [invalid(path, name, "the legacy signerName is not allowed via this API version")]
    domain, slash, rest = name.partition("/")
    if not slash or not domain or not rest:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, detail)]
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        return [invalid(path, domain, detail)]
    return [invalid(path, domain, each) for each in dns_subdomain(domain)] + [
        invalid(path, rest, f'validating label "{part}": {each}')
        for part in rest.split(".")
        for each in dns_subdomain(part)
    ]


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, ValueError):
        return b""


def _conditions(item: Json) -> list[str]:
    return [each.get("type", "") for each in (item.get("status") or {}).get("conditions") or ()]


def _changed_conditions(item: Json, old: Json, free: frozenset[str]) -> Errors:
    """Check that a write neither adds nor removes decisions about a request."""
    path = "status.conditions"
    before, after = _conditions(old), _conditions(item)
    found: Errors = []
    for word in _DECISIONS:
        was, now = before.count(word), after.count(word)
        if now < was:
            detail = f'updates may not remove a condition of type "{word}"'
            found.append(forbidden(path, detail))
        elif now > was and word not in free:
            detail = f'updates may not add a condition of type "{word}"'
            found.append(forbidden(path, detail))
    return found


def _exclusive(item: Json) -> Errors:
    words = _conditions(item)
    if "Approved" in words and "Denied" in words:
        detail = "Approved and Denied conditions are mutually exclusive"
        return [invalid("status.conditions", "Denied", detail)]
    return []


def check_signing_status(item: Json, old: Json) -> Errors:
    """Check the status of a request: the certificate, or a failure."""
    found: Errors = []
    certificate = (item.get("status") or {}).get("certificate")
    if certificate and _CERTIFICATE not in _decoded(certificate):
        detail = "must contain at least one CERTIFICATE PEM block"
        found.append(invalid("status.certificate", "<certificate data>", detail))
    found += _decided(item) + _exclusive(item)
    return found + _changed_conditions(item, old, frozenset({"Failed"}))


def check_approval(item: Json, old: Json) -> Errors:
    """Check the decision about a request."""
    allowed = frozenset({"Approved", "Denied"})
    return _decided(item) + _exclusive(item) + _changed_conditions(item, old, allowed)


def _decided(item: Json) -> Errors:
    """Check the types and the statuses of conditions; a decision is true."""
    found: Errors = []
    seen: set[str] = set()
    for index, each in enumerate((item.get("status") or {}).get("conditions") or ()):
        where, kind, status = (
            f"status.conditions[{index}]",
            each.get("type", ""),
            each.get("status"),
        )
        allowed = ("True",) if kind in _DECISIONS else ("False", "True", "Unknown")
        if not kind:
            found.append(required(f"{where}.type"))
        if not status:
            found.append(required(f"{where}.status"))
        elif status not in allowed:
            found.append(unsupported(f"{where}.status", status, allowed))
        if kind in seen:
            found.append(duplicate(f"{where}.type", kind))
        seen.add(kind)
    return found
