"""Kubernetes' own tests of three groups: which need more than ``stretto up`` has, and why."""

import re
from typing import Final

GROUPS: Final = ("sig-api-machinery", "sig-apps", "sig-cli")
"""Labels of the groups of tests."""
FOCUS: Final = rf"\[({'|'.join(GROUPS)})\]"
"""Regular expression of all their tests."""

_SERVES = "its pods serve requests; simulated pods serve nothing"
_EXEC = "it runs commands in pods or reads their logs; simulated pods have neither"
_FILES = "its containers keep files or handle signals, which simulated commands do not"
_GATE = "it needs a feature gate that is off by default"
_PROCESS = "it restarts processes of a control plane or of nodes"

NOT_RUN: Final = {
    r"AdmissionWebhook.*(deny|should mutate|honor timeout|fail closed)": _SERVES,
    r"AdmissionWebhook.*(not be able to mutate|listing|patching/updating)": _SERVES,
    r"CustomResourceConversionWebhook|CustomResourceFieldSelectors": _SERVES,
    r"Aggregator|Aggregated APIServer|1\.17 sample-apiserver": _SERVES,
    r"serve a basic image|load-balancer|basic identity|clustered applications": _SERVES,
    r"Port forwarding|Guestbook|Update Demo|create services for rc": _SERVES,
    r"Simple pod|Kubectl exec|Kubectl copy|Kubectl logs|debug custom": _EXEC,
    r"roll backs of template|predecessor fails|StatefulSet.*adopt matching orphans": _EXEC,
    r"halt if any stateful pod|even with unhealthy pods": _EXEC,
    r"tasks sometimes fail|policy to ignore failure|policy on exit code": _FILES,
    r"only after they have failed|restarted by container restart policy": _FILES,
    r"OffByDefault|StorageVersionAPI|APIServerIdentity": _GATE,
    r"Etcd failure|DaemonRestart": _PROCESS,
}
"""Reasons of tests that do not run, by regular expressions of their names."""
FAILING: Final[dict[str, str]] = {}
"""Reasons of tests that are known to fail, which run only by ``--again``."""
ALONE: Final = re.compile(r"\[(Serial|Disruptive)\]|priority and fairness")
"""Tests that run one after another."""
UNCACHED: Final = re.compile("kubectl explain works for CR with the same resource name")
"""Tests that each need a new server: with a warm cache of discovery, kubectl finds no newer short
name, over kube-apiserver too."""


def group_of(name: str) -> str:
    """The group of a test; empty for a test of another group."""
    return next((each for each in GROUPS if name.startswith(f"[{each}]")), "")


def reason_in(reasons: dict[str, str], name: str) -> str:
    """The reason whose expression matches a name; empty for none."""
    return next((why for each, why in reasons.items() if re.search(each, name)), "")
