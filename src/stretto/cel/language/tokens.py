"""Tokens of expressions: the lexical rules of ``parser/gen/CEL.g4`` in cel-go."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from stretto.cel.language.problems import Problem


class TokenKind(StrEnum):
    """Kind of a token. The value is its name in problems; the order is that of cel-go."""

    EQUAL = "'=='"
    DIFFERENT = "'!='"
    IN = "'in'"
    LESS = "'<'"
    AT_MOST = "'<='"
    AT_LEAST = "'>='"
    GREATER = "'>'"
    AND = "'&&'"
    OR = "'||'"
    OPEN_BRACKET = "'['"
    CLOSE_BRACKET = "']'"
    OPEN_BRACE = "'{'"
    CLOSE_BRACE = "'}'"
    OPEN_PARENTHESIS = "'('"
    CLOSE_PARENTHESIS = "')'"
    DOT = "'.'"
    COMMA = "','"
    MINUS = "'-'"
    NOT = "'!'"
    QUESTION = "'?'"
    COLON = "':'"
    PLUS = "'+'"
    TIMES = "'*'"
    DIVIDE = "'/'"
    MODULO = "'%'"
    TRUE = "'true'"
    FALSE = "'false'"
    NULL = "'null'"
    FLOAT = "NUM_FLOAT"
    INT = "NUM_INT"
    UINT = "NUM_UINT"
    STRING = "STRING"
    BYTES = "BYTES"
    NAME = "IDENTIFIER"
    QUOTED_NAME = "ESC_IDENTIFIER"
    END = "<EOF>"


class Token(NamedTuple):
    """A token of an expression."""

    #: Kind of the token.
    kind: TokenKind
    #: Text of the token in the source; empty at the end.
    text: str
    #: Offset of the token in the source.
    offset: int


ENDS: Final = frozenset(
    (
        TokenKind.AND,
        TokenKind.OR,
        TokenKind.QUESTION,
        TokenKind.COLON,
        TokenKind.COMMA,
        TokenKind.CLOSE_BRACKET,
        TokenKind.CLOSE_BRACE,
        TokenKind.CLOSE_PARENTHESIS,
        TokenKind.END,
    )
)
"""Tokens that end a condition."""
WHOLE_ENDS: Final = ENDS - {TokenKind.AND, TokenKind.OR}
"""Tokens that end a whole expression, or the condition of a choice."""
LONE: Final = frozenset(
    (
        TokenKind.TRUE,
        TokenKind.FALSE,
        TokenKind.NULL,
        TokenKind.FLOAT,
        TokenKind.INT,
        TokenKind.UINT,
        TokenKind.STRING,
        TokenKind.BYTES,
        TokenKind.NAME,
    )
)
"""Tokens that are an operand of their own."""


@dataclass(frozen=True)
class Operators:
    """Operators that associate to the left."""

    #: Name of the rule of the grammar.
    rule: str
    #: Precedence of the operators.
    levels: Mapping[TokenKind, int]
    #: Tokens that follow a whole operand.
    follow: frozenset[TokenKind]


_COMPARING: Final = dict.fromkeys(
    (
        TokenKind.LESS,
        TokenKind.AT_MOST,
        TokenKind.AT_LEAST,
        TokenKind.GREATER,
        TokenKind.EQUAL,
        TokenKind.DIFFERENT,
        TokenKind.IN,
    ),
    1,
)
_CALCULATING: Final = {
    TokenKind.PLUS: 1,
    TokenKind.MINUS: 1,
    TokenKind.TIMES: 2,
    TokenKind.DIVIDE: 2,
    TokenKind.MODULO: 2,
}
RELATIONS: Final = Operators("relation", _COMPARING, ENDS.union(_COMPARING))
ARITHMETIC: Final = Operators("calculation", _CALCULATING, ENDS.union(_COMPARING, _CALCULATING))
_PLAIN: Final = {each.value[1:-1]: each for each in TokenKind if each.value.startswith("'")}
"""Kinds of operators and of reserved words by their text."""
_ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_CUT_ESCAPE: Final = r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?"
_RAW: Final = r'[rR](?:"""(?:.|\n)*?"""|' + r"'''(?:.|\n)*?'''|" + r'"[^"\n\r]*"|' + r"'[^'\n\r]*')"
_COOKED: Final = "|".join(
    (
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    )
)
_STRING: Final = f"(?:{_RAW}|{_COOKED})"
_EXPONENT: Final = "[eE][+-]?[0-9]+"
_FLOAT: Final = rf"[0-9]*\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}"
_HIDDEN: Final = re.compile(r"(?:[\t \r\n\f]+|//[^\n]*)*")
_TOKEN: Final = re.compile(
    "|".join(
        (
            rf"(?P<BYTES>[bB]{_STRING})",
            rf"(?P<STRING>{_STRING})",
            rf"(?P<FLOAT>{_FLOAT})",
            r"(?P<UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])",
            r"(?P<INT>0x[0-9a-fA-F]+|[0-9]+)",
            r"(?P<NAME>[A-Za-z_][A-Za-z0-9_]*)",
            r"(?P<QUOTED_NAME>`[A-Za-z0-9_.\-/ ]+`)",
            r"(?P<PLAIN>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
        )
    )
)
_CUT: Final = re.compile(
    rf'"(?:{_ESCAPE}|[^\\"\n\r])*(?:{_CUT_ESCAPE})?'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*(?:{_CUT_ESCAPE})?"
    r"|`[A-Za-z0-9_.\-/ ]*|[=&|]|"
)
"""Longest start of a token that a text without a token has."""


def tokens_of(source: str) -> tuple[list[Token], list[Problem]]:
    """Return the tokens of an expression, the end last, and the problems of other characters."""
    found: list[Token] = []
    problems: list[Problem] = []
    at = _after_hidden(source, 0)
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            cut = _CUT.match(source, at)
            end = min((cut.end() if cut else at) + 1, len(source))
            text = f"Syntax error: token recognition error at: '{source[at:end]}'"
            problems.append(Problem(at, text))
        else:
            end = match.end()
            found.append(Token(_kind(match), match[0], at))
        at = _after_hidden(source, end)
    return [*found, Token(TokenKind.END, "", len(source))], problems


def _after_hidden(source: str, at: int) -> int:
    """Return the offset after white space and comments."""
    match = _HIDDEN.match(source, at)
    return match.end() if match else at


def _kind(match: re.Match[str]) -> TokenKind:
    if match.lastgroup in ("PLAIN", "NAME"):
        return _PLAIN.get(match[0], TokenKind.NAME)
    return TokenKind[match.lastgroup or ""]


def shown(text: str) -> str:
    """Return a part of the source as a problem shows it."""
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
