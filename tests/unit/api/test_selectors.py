"""Selectors select what Kubernetes' own would."""

import pytest

from stretto.api.wire.meta import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    SelectorRequirement,
)
from stretto.api.wire.selectors import (
    EVERYTHING,
    NOTHING,
    integer,
    label_selector,
    node_terms,
    parse_labels,
)
from stretto.base.errors import InputError

WEB = {"app": "web", "tier": "fe"}


def rule(key: str, operator: str, *values: str) -> SelectorRequirement:
    return SelectorRequirement(key=key, operator=operator, values=values)


def node_matches(term: NodeSelectorTerm, name: str = "n1", **labels: str) -> bool:
    terms = node_terms(NodeSelector(node_selector_terms=(term,)), "affinity")
    return any(each.matches(name, labels) for each in terms)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "app",
        "app=web",
        "app == web",
        "app!=db",
        "old!=yes",
        "!old",
        "app in (db, web)",
        "old notin (yes)",
        "app=web,tier in (fe,be),!old",
        " app = web , tier ",
    ],
)
def test_a_text_selects_labels_that_meet_all_its_rules(text: str) -> None:
    assert parse_labels(text).matches(WEB)


@pytest.mark.parametrize(
    "text", ["old", "app=db", "app=", "!app", "app!=web", "app in (db)", "app notin (web)", "app>1"]
)
def test_a_text_does_not_select_labels_that_break_a_rule(text: str) -> None:
    assert not parse_labels(text).matches(WEB)


def test_an_empty_value_can_be_selected() -> None:
    assert parse_labels("app=").matches({"app": ""})
    assert parse_labels("app in (,db)").matches({"app": ""})
    assert not parse_labels("app=").matches({})


def test_a_key_may_be_called_like_a_word_of_the_syntax() -> None:
    assert parse_labels("in in (in)").matches({"in": "in"})


@pytest.mark.parametrize(
    "text",
    [
        "=",
        "a=b c",
        "a in b",
        "a in (b",
        "a in (b c)",
        "a,,b",
        ",a",
        "a,",
        "!",
        "!a=b",
        "a=(",
        "a)",
        "x in",
    ],
)
def test_a_text_that_is_no_selector_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="such as app=web"):
        parse_labels(text)


@pytest.mark.parametrize("text", ["-a=b", "a=-b", "a/b/c=d", "A_/x=1", "a=" + "x" * 64])
def test_keys_and_values_follow_the_rules_of_labels(text: str) -> None:
    with pytest.raises(InputError, match="a label"):
        parse_labels(text)


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert label_selector(None, "x") is NOTHING
    assert not NOTHING.matches({})
    assert label_selector(LabelSelector(), "x") == EVERYTHING
    assert EVERYTHING.matches({})


def test_the_struct_joins_labels_and_expressions() -> None:
    struct = LabelSelector(match_labels={"app": "web"}, match_expressions=(rule("old", "Exists"),))
    assert not label_selector(struct, "x").matches(WEB)
    assert label_selector(struct, "x").matches({**WEB, "old": ""})


def test_equal_selectors_are_equal_values_however_they_are_written() -> None:
    struct = LabelSelector(match_expressions=(rule("b", "In", "2", "1"), rule("a", "Exists")))
    assert label_selector(struct, "x") == parse_labels("a,b in (1,2,1)")
    assert str(label_selector(struct, "x")) == "a,b in (1,2)"


def test_a_selector_names_the_keys_it_depends_on() -> None:
    assert parse_labels("a=1,!b,c in (x)").keys() == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("requirement", "complaint"),
    [
        (rule("a", "In"), "at least one value for In"),
        (rule("a", "Exists", "x"), "no values for Exists"),
        (rule("", "Exists"), r"matchExpressions\[0\]\.key"),
        (rule("a", "In", "ok", "not ok"), r"matchExpressions\[0\]\.values\[1\]"),
    ],
)
def test_a_bad_expression_is_refused_with_its_path(
    requirement: SelectorRequirement, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        label_selector(LabelSelector(match_expressions=(requirement,)), "spec.selector")


@pytest.mark.parametrize("operator", ["in", "Gt", "Equals", ""])
def test_label_selectors_have_four_operators(operator: str) -> None:
    selector = LabelSelector(match_expressions=(rule("a", operator, "1"),))
    with pytest.raises(InputError, match="expected one of In, NotIn, Exists, DoesNotExist"):
        label_selector(selector, "spec.selector")


@pytest.mark.parametrize(
    ("label", "greater"), [("007", True), ("5", False), ("x", False), ("", False)]
)
def test_gt_compares_integer_labels(label: str, greater: bool) -> None:
    term = NodeSelectorTerm(match_expressions=(rule("cores", "Gt", "6"),))
    assert node_matches(term, cores=label) is greater


def test_lt_needs_the_label() -> None:
    term = NodeSelectorTerm(match_expressions=(rule("cores", "Lt", "8"),))
    assert node_matches(term, cores="7")
    assert not node_matches(term)


@pytest.mark.parametrize(
    "text", ["1_0", " 7", "7.0", "0x7", "٧", "99999999999999999999", str(2**63)]
)
def test_only_plain_64_bit_integers_are_integers(text: str) -> None:
    assert integer(text) is None


@pytest.mark.parametrize("text", ["8.5", "x", ""])
def test_gt_needs_an_integer(text: str) -> None:
    with pytest.raises(InputError, match="exactly one integer for Gt"):
        node_matches(NodeSelectorTerm(match_expressions=(rule("cores", "Gt", text),)))


def test_an_empty_term_matches_no_node() -> None:
    assert not node_matches(NodeSelectorTerm(), app="web")


def test_an_absent_node_selector_has_no_terms() -> None:
    assert node_terms(None, "x") == ()


def test_match_fields_pin_nodes_by_name() -> None:
    term = NodeSelectorTerm(match_fields=(rule("metadata.name", "In", "n1"),))
    compiled = node_terms(NodeSelector(node_selector_terms=(term,)), "x")[0]
    assert compiled.names() == frozenset({"n1"})
    assert compiled.matches("n1", {})
    assert not compiled.matches("n2", {})


def test_a_term_without_pins_names_no_nodes() -> None:
    term = NodeSelectorTerm(match_fields=(rule("metadata.name", "NotIn", "n1"),))
    assert node_terms(NodeSelector(node_selector_terms=(term,)), "x")[0].names() is None


@pytest.mark.parametrize(
    "requirement", [rule("spec.x", "In", "n1"), rule("metadata.name", "In", "n1", "n2")]
)
def test_match_fields_have_one_field_and_one_name(requirement: SelectorRequirement) -> None:
    with pytest.raises(InputError, match=r"matchFields\[0\]"):
        node_matches(NodeSelectorTerm(match_fields=(requirement,)))
