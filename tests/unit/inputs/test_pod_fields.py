"""A misspelt field of a pod's spec is reported with the nearest name if scheduling reads it."""

from typing import Any

import pytest

from stretto.api.types.pod import PodSpec
from stretto.base.errors import InputError
from stretto.inputs.neutral.pod_fields import POD_SPEC_FIELDS, check_spec
from stretto.inputs.neutral.strict import keys_of

RULE = {"key": "a", "operator": "In", "values": ["b"]}


def affinity(**node: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": node}}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "top": (
        {"nodeSelecter": {"a": "b"}},
        "p.nodeSelecter: unknown key; did you mean 'nodeSelector'",
    ),
    "case": ({"priorityclassname": "x"}, "did you mean 'priorityClassName'"),
    "deep": (affinity(required={}), "p.affinity: nodeAffinity.required: unknown key"),
    "list": ({"tolerations": [{"key": "a"}, {"kye": "a"}]}, "p.tolerations[1]: kye: unknown key"),
    "spread": ({"topologySpreadConstraints": [{"maxSkw": 1}]}, "did you mean 'maxSkew'"),
    "value": ({"tolerations": ["gpu"]}, "p.tolerations[0]: got 'gpu'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_unknown_field_is_refused_with_its_path(what: str) -> None:
    spec, words = WRONG[what]
    with pytest.raises(InputError) as caught:
        check_spec(spec, "p")
    assert words in str(caught.value)


def test_fields_that_scheduling_does_not_read_are_fine() -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [RULE]}]}
    check_spec(
        {
            "dnsPolicy": "ClusterFirst",
            "securityContext": {"runAsUser": 7},
            **affinity(requiredDuringSchedulingIgnoredDuringExecution=terms),
        },
        "p",
    )


def test_every_field_that_stretto_reads_is_known() -> None:
    assert set(keys_of(PodSpec)) <= set(POD_SPEC_FIELDS)
