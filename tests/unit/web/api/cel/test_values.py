"""Addresses, networks, amounts, versions and lists in CEL have the functions of Kubernetes."""

import pytest

from stretto.cel.programs import CelError, Compiler, evaluate
from stretto.web.api.cel.variables import RULES


@pytest.mark.parametrize(
    "text",
    [
        "ip('10.0.0.1').family() == 4 && ip('::1').isLoopback()",
        "ip('0:0:0:0:0:0:0:1') == ip('::1') && !ip.isCanonical('0:0:0:0:0:0:0:1')",
        "ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
        "ip('224.0.0.5').isLinkLocalMulticast() && ip('fe80::1').isLinkLocalUnicast()",
        "ip('0.0.0.0').isUnspecified() && !isIP('10.0.0.256') && !isIP('::ffff:1.2.3.4')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "cidr('10.0.0.0/8').containsIP(ip('10.0.0.1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
        "cidr('10.1.2.3/16').masked() == cidr('10.1.0.0/16')",
        "cidr('10.1.2.3/16').ip() == ip('10.1.2.3') && cidr('10.1.2.3/16').prefixLength() == 16",
        "!isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/255.0.0.0')",
        "quantity('1Gi').sub(quantity('1Mi')).isLessThan(quantity('1Gi'))",
        "quantity('500m').add(1) == quantity('1500m') && sign(quantity('-1')) == -1",
        "quantity('2k').asInteger() == 2000 && !quantity('500m').isInteger()",
        "quantity('500m').asApproximateFloat() == 0.5",
        "semver('1.2.3').minor() == 2 && semver('1.0.0-alpha.1').isLessThan(semver('1.0.0'))",
        "semver('1.0.0-2').isLessThan(semver('1.0.0-10'))",
        "semver('1.0.0').compareTo(semver('1.0.0')) == 0",
        "isSemver('v1', true) && semver('v01.2', true).major() == 1 && !isSemver('v1')",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 2, 1].distinct() == [1, 2]",
        "[1, 2, 3].slice(1, 3) == [2, 3] && lists.range(3) == [0, 1, 2]",
    ],
)
def test_functions_have_the_results_of_kubernetes(text: str) -> None:
    assert evaluate(text, RULES, {}) is True


@pytest.mark.parametrize(
    "text",
    [
        "cidr('10.0.0.1').prefixLength()",
        "quantity('500m').asInteger()",
        "semver('1.2').major()",
        "[1].slice(0, 2)",
        "lists.range(1000000000)",
    ],
)
def test_wrong_arguments_are_errors(text: str) -> None:
    program = Compiler().compiled(text, RULES)
    with pytest.raises(CelError):
        program.evaluate({})


@pytest.mark.parametrize(
    "text",
    [
        f"int('{'9' * 5000}') > 0",
        f"uint('{'9' * 5000}') > 0u",
        f"duration('{'9' * 5000}h') > duration('1s')",
        f"'%.{'9' * 5000}f'.format([1.0]) == ''",
        "bytes(dyn(100000000000)) == b''",
        "int(null) == 1",
        "double(dyn(b'x')) == 1.0",
    ],
)
def test_constants_beyond_64_bits_and_of_other_types_do_not_compile(text: str) -> None:
    with pytest.raises(CelError):
        Compiler().compiled(text, RULES)


def test_zeros_before_a_number_do_not_count() -> None:
    assert evaluate(f"int('-{'0' * 5000}7') == -7", RULES, {}) is True


@pytest.mark.parametrize("text", ["(" * 250 + "1" + ")" * 250, "dyn(" * 250 + "1" + ")" * 250])
def test_an_expression_of_too_many_levels_names_the_limit(text: str) -> None:
    with pytest.raises(CelError, match=r"<input>:-1:0: expression recursion limit exceeded: 250$"):
        Compiler().compiled(text, RULES)


@pytest.mark.parametrize(
    "text", ["'a'" + " + 'a'" * 251, "self" + ".a" * 251, "[1].map(x, " * 90 + "x" + ")" * 90]
)
def test_an_expression_whose_tree_is_too_deep_names_the_limit(text: str) -> None:
    with pytest.raises(CelError, match=r"<input>:-1:0: max recursion depth exceeded$"):
        Compiler().compiled(text, RULES)


@pytest.mark.parametrize(
    "text", ["(" * 249 + "1" + ")" * 249, "1" + " + 0" * 250, "dyn(" * 249 + "1" + ")" * 249]
)
def test_an_expression_of_as_many_levels_as_in_kubernetes_has_a_value(text: str) -> None:
    assert evaluate(text, RULES, {}) == 1


def test_copies_by_macros_do_not_grow_without_limit() -> None:
    with pytest.raises(CelError, match=r"<input>:-1:0: expression node limit exceeded: 20000$"):
        Compiler().compiled("self" + ".optMap(x, x)" * 60, RULES)


def test_conditions_between_and_are_no_levels() -> None:
    assert evaluate("true" + " && true" * 150, RULES, {}) is True
