"""Compiled expressions: an equal one of the same environment is compiled once."""

import pytest

from stretto.cel.language.environment import Environment
from stretto.cel.language.types import DYN, STRING
from stretto.cel.programs import Compiler, TooManyNodesError

ANY = Environment({"self": DYN})
TEXT = Environment({"self": STRING})


def test_an_equal_expression_is_compiled_once() -> None:
    compiler = Compiler()
    assert compiler.compiled("self == 1", ANY) is compiler.compiled("self == 1", ANY)


def test_an_equal_expression_is_checked_in_each_environment() -> None:
    problems = [Compiler().problem_of("self == 1", each) for each in (ANY, TEXT)]
    assert [bool(each) for each in problems] == [False, True]


def test_equal_expressions_count_once_for_the_limit_of_nodes() -> None:
    compiler = Compiler(most_nodes=10)
    problems = [compiler.problem_of("self == 1", ANY) for _ in range(2)]
    assert problems == ["", ""]


def test_the_expressions_of_an_object_have_a_limit_of_nodes_together() -> None:
    compiler = Compiler(most_nodes=19)
    compiler.compiled("self == 1", ANY)
    with pytest.raises(TooManyNodesError):
        compiler.compiled("self == 1", TEXT)
