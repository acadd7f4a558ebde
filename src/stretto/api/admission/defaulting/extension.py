"""Defaults of webhooks, admission policies, API services and definitions of custom resources."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.pod import default

Json = dict[str, Any]

_HTTPS: Final = 443


def _webhook(hook: Json) -> None:
    default(
        hook,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        namespaceSelector={},
        objectSelector={},
        timeoutSeconds=10,
    )


def _mutating(hook: Json) -> None:
    _webhook(hook)
    default(hook, reinvocationPolicy="Never")


def _rule(rule: Json) -> None:
    default(rule, scope="*")


def _service(reference: Json) -> None:
    default(reference, port=_HTTPS)


def _policy(spec: Json) -> None:
    default(spec, failurePolicy="Fail")


def _match(resources: Json) -> None:
    default(resources, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})


def _definition(spec: Json) -> None:
    names = spec.setdefault("names", {})
    default(
        names,
        singular=names.get("kind", "").lower(),
        listKind=f"{names['kind']}List" if names.get("kind") else "",
    )
    for name in ("singular", "listKind"):
        if not names.get(name):
            names.pop(name, None)
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}


EXTENSION: Final[Mapping[str, Callable[[Json], None]]] = {
    "admissionregistration/v1.ValidatingWebhook": _webhook,
    "admissionregistration/v1.MutatingWebhook": _mutating,
    "admissionregistration/v1.RuleWithOperations": _rule,
    "admissionregistration/v1.NamedRuleWithOperations": _rule,
    "admissionregistration/v1.ServiceReference": _service,
    "admissionregistration/v1.ValidatingAdmissionPolicySpec": _policy,
    "admissionregistration/v1.MutatingAdmissionPolicySpec": _policy,
    "admissionregistration/v1.MatchResources": _match,
    "apiregistration/v1.ServiceReference": _service,
    "apiextensions/v1.ServiceReference": _service,
    "apiextensions/v1.CustomResourceDefinitionSpec": _definition,
}
"""Defaults by struct."""
