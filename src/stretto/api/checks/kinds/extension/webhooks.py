"""Rules of webhook configurations."""

import re
from typing import Final

from stretto.api.checks.fields.errors import Errors, duplicate, invalid, repeated, required
from stretto.api.checks.fields.shapes import between, choice
from stretto.api.checks.fields.texts import dns_1035, dns_subdomain, fully_qualified, qualified_name
from stretto.api.checks.kinds.values import (
    FAILURE_POLICY,
    MATCH_POLICY,
    Json,
    check_selector,
    one_of,
)

_URL: Final = re.compile(
    r"(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?://(?:(?P<user>[^@/?#]*)@)?(?P<host>[^/?#]*))?"
    r"[^?#]*(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?"
)
_URL_FORM: Final = "; desired format: https://host[/path]"
_SIDE_EFFECTS: Final = choice("None", "NoneOnDryRun")
_REINVOCATIONS: Final = choice("IfNeeded", "Never")
_SCOPES: Final = choice("*", "Cluster", "Namespaced")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_TIMEOUT: Final = between(1, 30)
_MOST_CONDITIONS: Final = 64
_SEGMENTS: Final = 3


def check_webhooks(item: Json, _old: Json | None) -> Errors:
    """Check a webhook configuration, mutating or validating."""
    found: Errors = []
    names: set[str] = set()
    for index, hook in enumerate(item.get("webhooks") or ()):
        where, name = f"webhooks[{index}]", hook.get("name", "")
        found += _name(name, f"{where}.name")
        found += _hook(hook, where)
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
    return found


def _name(name: str, path: str) -> Errors:
    problems = fully_qualified(name, _SEGMENTS)
    return [invalid(path, name, each) for each in problems] if name else [required(path)]


def _hook(hook: Json, where: str) -> Errors:
    found: Errors = []
    for index, rule in enumerate(hook.get("rules") or ()):
        found += check_operations(rule, f"{where}.rules[{index}]")
    if hook.get("failurePolicy") is not None:
        found += FAILURE_POLICY(hook["failurePolicy"], f"{where}.failurePolicy")
    if hook.get("matchPolicy") is not None:
        found += MATCH_POLICY(hook["matchPolicy"], f"{where}.matchPolicy")
    if hook.get("sideEffects") is None:
        found.append(required(f"{where}.sideEffects", "must specify one of None, NoneOnDryRun"))
    else:
        found += _SIDE_EFFECTS(hook["sideEffects"], f"{where}.sideEffects")
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and _TIMEOUT(seconds, ""):
        detail = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid(f"{where}.timeoutSeconds", seconds, detail))
    for name in ("namespaceSelector", "objectSelector"):
        found += check_selector(hook.get(name), f"{where}.{name}")
    if hook.get("reinvocationPolicy") is not None:
        found += _REINVOCATIONS(hook["reinvocationPolicy"], f"{where}.reinvocationPolicy")
    found += check_client(hook.get("clientConfig") or {}, f"{where}.clientConfig")
    found += check_conditions(hook.get("matchConditions") or [], f"{where}.matchConditions")
    versions, path = hook.get("admissionReviewVersions") or [], f"{where}.admissionReviewVersions"
    if not versions:
        return [*found, required(path, "must specify one of v1, v1beta1")]
    return found + check_review_versions(versions, path)


def check_review_versions(versions: list[str], path: str) -> Errors:
    """Check the versions of reviews that a webhook accepts."""
    again = repeated(versions)
    found = [
        invalid(f"{path}[{index}]", each, problem)
        for index, each in enumerate(versions)
        for problem in (["duplicate version"] if index in again else dns_1035(each))
    ]
    if not {"v1", "v1beta1"} & set(versions):
        found.append(invalid(path, versions, "must include at least one of v1, v1beta1"))
    return found


def check_client(client: Json, path: str) -> Errors:
    """Check the address of a webhook: a URL or a Service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None or service is None:
        return _url(str(url), f"{path}.url")
    found = [  # kube-apiserver exchanges both paths
        required(f"{path}.service.{where}")
        for where, name in (("name", "namespace"), ("namespace", "name"))
        if not service.get(name)
    ]
    port = service.get("port", 443)
    if not 1 <= port <= 65_535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(invalid(f"{path}.service.port", port, detail))
    return found + _service_path(service.get("path") or "", f"{path}.service.path")


def _service_path(target: str, path: str) -> Errors:
    """Check the path of a request to a Service: its segments are subdomains."""
    if target in ("", "/"):
        return []
    found = [] if target.startswith("/") else [invalid(path, target, "must start with a '/'")]
    for index, step in enumerate(target[1:].removesuffix("/").split("/")):
        if not step:
            found.append(invalid(path, target, f"segment[{index}] may not be empty"))
            continue
        problems = dns_subdomain(step)
        found += [invalid(path, target, f"segment[{index}]: {each}") for each in problems]
    return found


def _url(url: str, path: str) -> Errors:
    parts = _URL.fullmatch(url)
    if parts is None:
        detail = f'url must be a valid URL: parse "{url}": invalid URL{_URL_FORM}'
        return [required(path, detail)]
    found: Errors = []
    if parts["scheme"] != "https":
        detail = f"'https' is the only allowed URL scheme{_URL_FORM}"
        found.append(invalid(path, parts["scheme"] or "", detail))
    if not parts["host"]:
        found.append(invalid(path, "", f"host must be specified{_URL_FORM}"))
    for name, detail in (
        ("user", "user information is not permitted in the URL"),
        ("fragment", "fragments are not permitted in the URL"),
        ("query", "query parameters are not permitted in the URL"),
    ):
        if parts[name]:
            found.append(invalid(path, parts[name], detail))
    return found


def check_operations(rule: Json, path: str) -> Errors:
    """Check operations and resources that a rule selects."""
    operations, found = rule.get("operations") or [], []
    if not operations:
        found.append(required(f"{path}.operations"))
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        found.append(invalid(f"{path}.operations", operations, detail))
    for index, each in enumerate(operations):
        found += one_of(each, f"{path}.operations[{index}]", _OPERATIONS)
    for name, word in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        found += _words(rule.get(name) or [], f"{path}.{name}", word)
    found += _resources(rule.get("resources") or [], f"{path}.resources")
    if rule.get("scope") is not None:
        found += _SCOPES(rule["scope"], f"{path}.scope")
    return found


def _words(values: list[str], path: str, word: str) -> Errors:
    """Check groups or versions; only a group may be empty."""
    if not values:
        return [required(path)]
    found: Errors = []
    if len(values) > 1 and "*" in values:
        detail = f"if '*' is present, must not specify other {word}"
        found.append(invalid(path, values, detail))
    if word != "API groups":
        found += [required(f"{path}[{at}]") for at, each in enumerate(values) if not each]
    return found


def _resources(values: list[str], path: str) -> Errors:
    if not values:
        return [required(path)]
    found: Errors = []
    whole, parts = set(), set()
    is_plain = False
    for index, each in enumerate(values):
        where = f"{path}[{index}]"
        name, slash, part = each.partition("/")
        if not each:
            found.append(required(where))
        elif not slash:
            is_plain = each != "*"
        else:
            if name in whole:
                detail = f"if '{name}/*' is present, must not specify {each}"
                found.append(invalid(where, each, detail))
            if part in parts:
                detail = f"if '*/{part}' is present, must not specify {each}"
                found.append(invalid(where, each, detail))
            whole |= {name} if part == "*" else set()
            parts |= {part} if name == "*" else set()
    if len(values) > 1 and "*/*" in values:
        detail = "if '*/*' is present, must not specify other resources"
        found.append(invalid(path, values, detail))
    if "*" in values and is_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid(path, values, detail))
    return found


def check_conditions(conditions: list[Json], path: str) -> Errors:
    """Check match conditions: names and expressions, except their compilation."""
    found: Errors = []
    if len(conditions) > _MOST_CONDITIONS:
        detail = f"must have at most {_MOST_CONDITIONS} items"
        found.append(invalid(path, conditions, detail))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where, name = f"{path}[{index}]", condition.get("name", "")
        if not condition.get("expression", "").strip():
            found.append(required(f"{where}.expression"))
        if not name:
            found.append(required(f"{where}.name"))
        else:
            found += [invalid(f"{where}.name", name, each) for each in qualified_name(name)]
            if name in names:
                found.append(duplicate(f"{where}.name", name))
        names.add(name)
    return found
