"""Cached rows equal a plain loop over the nodes after any changes of the nodes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.types.core import Node
from stretto.api.types.pod import Toleration
from stretto.api.wire.selectors import NodeTerm, node_term
from stretto.framework.contract.rule import View
from stretto.framework.plugins.node_affinity import NodeAffinityRule
from stretto.framework.plugins.node_name import NodeNameRule
from stretto.framework.plugins.node_unschedulable import NodeUnschedulableRule
from stretto.framework.plugins.taints import TaintTolerationRule
from stretto.state.classes.table import PodClass
from stretto.state.nodes import static_rows
from stretto.state.nodes.eligibility import Eligibility
from stretto.state.nodes.table import NodeFacts
from tests.support.small_cluster import a_class, a_node, affinity, look, term

TAINT_WEIGHT, AFFINITY_WEIGHT = 3, 2
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

# ---------------------------------------------------------------- the plain walk


def passes(pod: PodClass, node: Node) -> bool:
    spec, name, labels = pod.spec, node.metadata.name, node.metadata.labels
    if node.spec.unschedulable and not tolerated(
        "node.kubernetes.io/unschedulable", "", "NoSchedule", pod
    ):
        return False
    if spec.node_name not in ("", name):
        return False
    hard = [taint for taint in node.spec.taints if taint.effect != "PreferNoSchedule"]
    if not all(tolerated(taint.key, taint.value, taint.effect, pod) for taint in hard):
        return False
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    required = spec.affinity.node_affinity.required if preferences(pod) else None
    if required is None:
        return True
    return any(compiled(each).matches(name, labels) for each in required.node_selector_terms)


def score(pod: PodClass, node: Node) -> int:
    soft = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
    anti_preferred = sum(not tolerated(taint.key, taint.value, taint.effect, pod) for taint in soft)
    met = total = 0
    for preference in spec_affinity(pod).preferred if preferences(pod) else ():
        total += preference.weight
        if compiled(preference.preference).matches(node.metadata.name, node.metadata.labels):
            met += preference.weight
    liked = 100 * met // total if total else 0
    return TAINT_WEIGHT * (100 // (1 + anti_preferred)) + AFFINITY_WEIGHT * liked


def tolerated(key: str, value: str, effect: str, pod: PodClass) -> bool:
    def one(toleration: Toleration) -> bool:
        if toleration.effect not in ("", effect) or toleration.key not in ("", key):
            return False
        return toleration.operator == "Exists" or toleration.value == value

    return any(one(toleration) for toleration in pod.spec.tolerations)


def preferences(pod: PodClass) -> bool:
    return pod.spec.affinity is not None


def spec_affinity(pod: PodClass) -> Any:
    assert pod.spec.affinity is not None
    return pod.spec.affinity.node_affinity


def compiled(wire: Any) -> NodeTerm:
    return node_term(wire.match_expressions, wire.match_fields, "test")


# ---------------------------------------------------------------- what happens

labels = st.dictionaries(
    st.sampled_from(["zone", "gen", "gpu"]), st.sampled_from(["a", "b", "3", "12", "-4"])
)
taints = st.lists(
    st.builds(
        "{}={}:{}".format, st.sampled_from("kl"), st.sampled_from("xy"), st.sampled_from(EFFECTS)
    ),
    max_size=3,
)
slots = st.sampled_from([0, 1, 2, 5, 7, 64, 77, 129])
rules = st.sampled_from(
    ["zone In a", "zone In a,b", "zone NotIn a", "gpu Exists", "gpu DoesNotExist"]
) | st.sampled_from(["gen Gt 3", "gen Lt 3", "@ In n5", "@ NotIn n5", "@ In n77"])
terms = st.builds(lambda each: term(*each), st.lists(rules, min_size=1, max_size=3, unique=True))
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["k", "l", "node.kubernetes.io/unschedulable"]),
        "operator": st.sampled_from(["Equal", "Exists"]),
        "value": st.sampled_from(["x", "y"]),
        "effect": st.sampled_from(EFFECTS),
    },
)
affinities = st.builds(
    affinity,
    required=st.none() | st.lists(terms, max_size=2),
    preferred=st.lists(st.tuples(st.integers(1, 100), terms), max_size=3),
)
pods = st.builds(
    a_class,
    nodeName=st.sampled_from(["", "", "", "n7"]),
    nodeSelector=st.dictionaries(
        st.sampled_from(["zone", "gen"]), st.sampled_from("ab"), max_size=1
    ),
    tolerations=st.lists(tolerations, max_size=2),
    affinity=st.none() | affinities,
)
changes = st.one_of(
    st.tuples(st.just("put"), slots, labels, taints, st.booleans()),
    st.tuples(st.just("remove"), slots),
)
events = st.lists(st.tuples(changes, st.booleans()), min_size=5, max_size=30)
"""Changes, and whether the view is read before the next one."""


class World:
    """Nodes as objects and as columns, side by side."""

    def __init__(self, classes: list[PodClass], row_bytes: int) -> None:
        self.objects: dict[int, Node] = {}
        self.nodes = NodeFacts()
        self.classes = classes
        taint, preference = TaintTolerationRule({}), NodeAffinityRule({})
        self.rows: Eligibility[View] = Eligibility(
            [NodeUnschedulableRule({}), NodeNameRule({}), taint, preference],
            [(taint, TAINT_WEIGHT), (preference, AFFINITY_WEIGHT)],
            self.nodes,
            lambda: look(self.nodes),
            row_bytes,
        )

    def step(self, event: tuple[Any, ...]) -> None:
        match event:
            case ("put", slot, labels, taints, cordoned):
                node = a_node(f"n{slot}", labels, taints=taints, unschedulable=cordoned)
                self.objects[slot] = node
                if self.nodes.put(slot, node):
                    self.rows.refresh([slot])
            case ("remove", slot):
                if self.objects.pop(slot, None) is not None:
                    self.nodes.remove(slot)
                    self.rows.refresh([slot])

    def check(self, pod: PodClass) -> None:
        row, scores = self.rows.filter_row(pod), self.rows.score_row(pod)
        allowed = {slot for slot, node in self.objects.items() if passes(pod, node)}
        assert set(np.flatnonzero(self.rows.rows[row]).tolist()) == allowed
        wanted = {slot: score(pod, node) for slot, node in self.objects.items()}
        found = self.rows.scores[scores]
        assert {slot: int(found[slot]) for slot in wanted} == wanted
        assert not np.delete(found, list(wanted)).any()


Story = list[tuple[tuple[Any, ...], bool]]


def play(world: World, story: Story) -> None:
    for pod in world.classes[::2]:
        world.check(pod)
    for change, looked_at in [*story, (story[0][0], True)]:
        world.step(change)
        for pod in world.classes if looked_at else ():
            world.check(pod)


@given(st.lists(pods, min_size=1, max_size=6), events)
def test_rows_equal_a_plain_walk_over_the_nodes(classes: list[PodClass], story: Story) -> None:
    play(World(classes, row_bytes=1 << 20), story)


@given(st.lists(pods, min_size=4, max_size=6), events)
def test_rows_stay_right_when_there_are_too_few(classes: list[PodClass], story: Story) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_rows, "MIN_ROWS", 3)
        play(World(classes, row_bytes=0), story)
