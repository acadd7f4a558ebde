"""Simulated scripts follow conditions on the variables of their container."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import POD
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Record
from stretto.workloads.kubelet.commands import command_ending
from stretto.workloads.kubelet.environment import environment_of
from stretto.workloads.kubelet.scripts import Ending
from tests.unit.web.local.clusters import PODS, Cluster, pod

JOBS = "/apis/batch/v1/namespaces/shop/jobs"
NEVER = Ending(float("inf"))
ODD = "if [ $(expr ${I} % 2) -ne 0 ]; then\n exit 1\nelse\n sleep 2; exit 0\nfi"


def ending(script: str, **variables: str) -> Ending | None:
    return command_ending(["sh", "-c", script], variables)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (ODD, Ending(0.0, 1)),
        ('if [ "$I" = 3 ]; then exit 4; fi; sleep 1', Ending(0.0, 4)),
        ('if [[ "$I" == 9 ]]; then exit 4; elif test $I -gt 2; then exit 5; fi', Ending(0.0, 5)),
        ("[ $I -eq 3 ] && exit 6", Ending(0.0, 6)),
        ("[ $I -eq 4 ] && exit 6", Ending(0.0, 1)),
        ("[ $I -lt 4 ] || exit 6; sleep 3", Ending(3.0)),
        ("exit $(( $I * 2 ))", Ending(0.0, 6)),
        ("exit $((I + 1))", None),
        ("if [ -z $NONE ]; then exit 7; fi", Ending(0.0, 7)),
        ('if [ -z "$NONE" ]; then exit 7; fi', Ending(0.0, 7)),
        ("echo '$I'; exit 2", Ending(0.0, 2)),
        ("if [ ! $I = 3 ]; then exit 8; fi", Ending(0.0)),
        ("if false; then exit 1; fi", Ending(0.0)),
        ("sleep 5; while [ $I = 3 ]; do date; sleep 1; done", NEVER),
        ("while [ $I = 4 ]; do sleep 1; done; exit 9", Ending(0.0, 9)),
        ("if [ -r /data/x ]; then exit 0; else exit 1; fi", None),
        ("exit $RANDOM", None),
        ("for i in 1 2; do sleep 1; done", None),
        ("if true; then exit 1", None),
        ("trap stop TERM; sleep 1", None),
    ],
)
def test_a_script_ends_as_it_would(script: str, expected: Ending | None) -> None:
    assert ending(script, I="3") == expected


def test_the_other_branch_takes_its_time() -> None:
    assert ending(ODD, I="2") == Ending(2.0)


def test_indexes_of_a_job_end_differently() -> None:
    cluster = Cluster(nodes=1)
    script = ODD.replace("${I}", "${JOB_COMPLETION_INDEX}")
    template: Any = {"spec": {**pod("", "n0")["spec"], "restartPolicy": "Never"}}
    template["spec"]["containers"][0]["command"] = ["sh", "-c", script]
    limits = {"backoffLimitPerIndex": 0, "completionMode": "Indexed"}
    spec = {"completions": 4, "parallelism": 4, "template": template, **limits}
    cluster.send("POST", JOBS, {"metadata": {"name": "j"}, "spec": spec})
    cluster.settle(8.0)
    status = cluster.send("GET", f"{JOBS}/j")["status"]
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1,3")


@pytest.mark.parametrize(
    ("variable", "code"),
    [
        ({"value": "a"}, 0),
        ({"value": "$(FIRST)a"}, 1),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, 1),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}}, 0),
    ],
)
def test_variables_are_those_of_the_container(variable: Any, code: int) -> None:
    cluster = Cluster(nodes=1)
    made = pod("web", "n0", labels={"x": "a"})
    made["spec"]["restartPolicy"] = "Never"
    variables = [{"name": "FIRST", "value": "b"}, {"name": "V", **variable}]
    words = ["sh", "-c", 'if [ "$V" = a ]; then exit 0; else exit 1; fi']
    made["spec"]["containers"][0] |= {"command": words, "env": variables}
    cluster.send("POST", PODS, made)
    cluster.settle(4.0)
    (found,) = cluster.send("GET", f"{PODS}/web")["status"]["containerStatuses"]
    assert found["state"]["terminated"]["exitCode"] == code


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("if true; then " * 400 + "true; " + "fi; " * 400, None),
        (f"exit $(({'9' * 400} / {'9' * 399}))", Ending(0.0, 10)),
        ("exit $((9007199254740993 / 1))", Ending(0.0, 1)),
        ("true # a comment\nexit 6", Ending(0.0, 6)),
        ("# it's a comment\nexit 6", None),
        ("echo $LONG " * 1000, None),
    ],
)
def test_no_script_is_too_deep_or_too_large(script: str, expected: Ending | None) -> None:
    assert ending(script, LONG="x" * 100_000) == expected


def test_variables_do_not_grow_without_end() -> None:
    env = [{"name": "V0", "value": "x" * 10}]
    env += [{"name": f"V{n + 1}", "value": f"$(V{n})" * 10} for n in range(30)]
    container = {"name": "c", "image": "i", "env": env}
    made = json.dumps({"metadata": {"name": "p"}, "spec": {"containers": [container]}}).encode()
    item = StoredObject(Record(POD, "shop", "p", "u", 1, made))
    assert max(map(len, environment_of(item, container).values())) <= 131_072
