"""Hashes of pod templates equal those of kube-controller-manager.

The expected values are the output of ``scripts/kube_schema/structs hashes`` for the same templates.
"""

from typing import Any

import pytest

from stretto.api.schema.hashes.digest import revision_hash, sorted_json, template_hash
from stretto.api.schema.hashes.dump import dumped_template

Json = dict[str, Any]

DEFAULTS: Json = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
DEPLOYED: Json = {
    "name": "nginx",
    "image": "nginx",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
SIZED: Json = {
    "name": "c",
    "image": "a",
    "resources": {
        "limits": {"cpu": "100m", "memory": "8Gi"},
        "requests": {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "4Pi"},
    },
}
PROBED: Json = {
    "name": "c",
    "image": "a",
    "command": [],
    "readinessProbe": {
        "httpGet": {"path": "/", "port": "http", "scheme": "HTTP"},
        "periodSeconds": 10,
    },
    "livenessProbe": {"tcpSocket": {"port": 80}},
    "env": [
        {
            "name": "A",
            "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
        }
    ],
}
VOLUMES: list[Json] = [
    {"name": "v", "emptyDir": {"sizeLimit": "512Mi"}},
    {"name": "w", "configMap": {"name": "settings", "defaultMode": 420}},
]
TERM: Json = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"x": "y"}}}
SPREAD: Json = {
    "containers": [{"name": "c", "image": "é"}],
    "hostNetwork": True,
    "hostPID": True,
    "tolerations": [{"operator": "Exists", "tolerationSeconds": 0}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
}
CASES = [
    (
        {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [DEPLOYED], **DEFAULTS}},
        "7887448d46",
        "55f6bbb6c7",
    ),
    ({"spec": {"containers": [SIZED]}}, "64cbf4fc96", "6dddd459b7"),
    (
        {
            "metadata": {"labels": {"b": "2", "a": "1"}, "annotations": {}},
            "spec": {"containers": [PROBED], "volumes": VOLUMES},
        },
        "7559595bf",
        "768649598",
    ),
    ({"spec": SPREAD}, "697579c9b9", "6ccf79d96b"),
]


@pytest.mark.parametrize(("template", "plain", "third"), CASES)
def test_a_template_has_the_hash_of_kubernetes(template: Json, plain: str, third: str) -> None:
    assert (template_hash(template), template_hash(template, 3)) == (plain, third)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("1Gi", "value:(int64)1073741824 scale:(resource.Scale)0} d:(resource.infDecAmount)"),
        ("8Gi", "s:(string) Format:(resource.Format)BinarySI"),
        ("100m", "s:(string)100m Format:(resource.Format)DecimalSI"),
        ("5000m", "value:(int64)5 scale:(resource.Scale)0}"),
        ("2E", "value:(int64)2 scale:(resource.Scale)18}"),
        ("3e3", "s:(string)3e3 Format:(resource.Format)DecimalExponent"),
        ("-4Pi", "neg:(bool)true abs:(big.nat)"),
    ],
)
def test_a_quantity_has_the_fields_of_its_decoder(text: str, fields: str) -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": text}}}
    assert fields in dumped_template({"spec": {"containers": [container]}})


def test_an_empty_list_equals_an_absent_one() -> None:
    assert dumped_template({"spec": {"volumes": []}}) == dumped_template({})


def test_collisions_change_the_hash_of_a_revision() -> None:
    assert revision_hash({"spec": {}}) != revision_hash({"spec": {}}, 1)


def test_signs_of_html_are_escaped_in_revisions() -> None:
    assert sorted_json({"b": "<&>", "a": 1}) == rb'{"a":1,"b":"\u003c\u0026\u003e"}'
