"""Compiled expressions: an equal one of the same environment is compiled once."""

from stretto.cel.language.environment import Environment
from stretto.cel.language.types import DYN, STRING
from stretto.cel.programs import compiled, problem_of

ANY = Environment({"self": DYN})
TEXT = Environment({"self": STRING})


def test_an_equal_expression_is_compiled_once() -> None:
    assert compiled("self == 1", ANY) is compiled("self == 1", ANY)


def test_an_equal_expression_is_checked_in_each_environment() -> None:
    problems = [problem_of("self == 1", each) for each in (ANY, TEXT)]
    assert [bool(each) for each in problems] == [False, True]
