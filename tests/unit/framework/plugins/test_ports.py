"""NodePorts: conflicts by address, protocol and port."""

import pytest

from stretto.base.errors import UnknownNameError
from stretto.framework.plugins.ports import REASON, NodePortsRule
from tests.support.slot_cluster import SlotSketch

RULE = NodePortsRule({})


def test_a_port_in_use_refuses_the_node() -> None:
    sketch = SlotSketch({}, {}, {})
    sketch.run("n1", sketch.pod(ports=[80, 443]))
    pod = sketch.pod(ports=[443])
    assert RULE.filter(pod, sketch.view, sketch.slots).tolist() == [True, False, True]


def test_another_port_does_not_disturb() -> None:
    sketch = SlotSketch({})
    sketch.run("n0", sketch.pod(ports=[80]))
    assert RULE.filter(sketch.pod(ports=[81]), sketch.view, sketch.slots).all()


def test_a_pod_without_host_ports_fits_every_node_and_the_rule_has_no_effect() -> None:
    sketch = SlotSketch({})
    sketch.run("n0", sketch.pod(ports=[80]))
    pod = sketch.pod()
    assert RULE.signature(pod) is None
    assert RULE.filter(pod, sketch.view, sketch.slots).all()
    assert RULE.refusals(pod, sketch.view, sketch.slots) == []


def test_the_reason_is_kubernetes_own_and_may_be_cured() -> None:
    sketch = SlotSketch({}, {})
    sketch.run("n1", sketch.pod(ports=[80]))
    (refusal,) = RULE.refusals(sketch.pod(ports=[80]), sketch.view, sketch.slots)
    assert (refusal.reason, refusal.resolvable) == (REASON, True)
    assert refusal.mask.tolist() == [False, True]


def test_ports_beyond_the_first_sixty_four_are_distinguished() -> None:
    sketch = SlotSketch({}, {})
    sketch.run("n0", sketch.pod(ports=list(range(1, 70))))
    requested = [RULE.filter(sketch.pod(ports=[p]), sketch.view, sketch.slots) for p in (69, 70)]
    assert [each.tolist() for each in requested] == [[False, True], [True, True]]


def test_a_port_that_no_pod_requested_yet_is_free() -> None:
    sketch = SlotSketch({})
    view = sketch.view
    pod = sketch.pod(ports=list(range(1, 70)))
    sketch.cluster.ledger.ports.learn(pod.ports)
    assert RULE.filter(pod, view, sketch.slots).all()


def test_it_takes_no_arguments() -> None:
    with pytest.raises(UnknownNameError):
        NodePortsRule({"ports": 1})
