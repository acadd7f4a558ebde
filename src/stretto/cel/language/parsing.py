"""Parser of expressions: the grammar ``parser/gen/CEL.g4`` and the limits of cel-go.

The parts of the parser are generators that yield the parts they need. So the depth of an
expression is not limited by the interpreter's stack.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from stretto.cel.language.constants import LiteralValueError, literal_value
from stretto.cel.language.macros import Expander, MacroError
from stretto.cel.language.nodes import (
    CallNode,
    ConstantNode,
    Entry,
    ListNode,
    MapNode,
    NameNode,
    Node,
    SelectNode,
    StructNode,
    Tree,
    children,
)
from stretto.cel.language.places import Places, TooLargeError
from stretto.cel.language.problems import display
from stretto.cel.language.reading import STARTS, StoppedReadingError, TokenReader
from stretto.cel.language.tokens import (
    ARITHMETIC,
    ENDS,
    LONE,
    RELATIONS,
    WHOLE_ENDS,
    Operators,
    Token,
    TokenKind,
)

_MOST_CHARACTERS: Final = 100_000
_MOST_DEPTH: Final = 250
"""Maximum depth of each rule of the grammar, and of the tree."""
_RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
"""Names that no variable and no function has; fields may have them."""
_NAMES: Final = frozenset((TokenKind.NAME, TokenKind.QUOTED_NAME))
_NUMBERS: Final = frozenset((TokenKind.INT, TokenKind.FLOAT))
"""Numbers that may have a sign."""
_FIELDS: Final = _NAMES | {TokenKind.QUESTION}
_ITEMS: Final = STARTS | {TokenKind.QUESTION}
_MEMBERS: Final = STARTS - {TokenKind.NOT}
_Part = Generator[Any, Node, Node]


class ExpressionSyntaxError(Exception):
    """The text is no expression; the message shows the places."""

    def __init__(self, message: str, nodes: int = 0) -> None:
        """State a problem.

        Args:
            message: the problem.
            nodes: number of the nodes that were parsed.
        """
        super().__init__(message)
        self.nodes = nodes


def parse(source: str, *, has_bindings: bool = False) -> Tree:
    """Return the expression in a text.

    Args:
        source: the text.
        has_bindings: whether ``cel.bind`` is a macro.

    Raises:
        ExpressionSyntaxError: the text is no expression.
    """
    size = len(source)
    if size > _MOST_CHARACTERS:
        text = f"expression code point size exceeds limit: size: {size}, limit {_MOST_CHARACTERS}"
        raise ExpressionSyntaxError(_unplaced(text))
    places, reader = Places(), TokenReader(source)
    root: Node | None = None
    heads: list[str] = []
    try:
        root = _TreeParser(reader, places, has_bindings=has_bindings).root()
        if len(places.offsets) > _MOST_DEPTH:
            _check_depth(root)
    except TooLargeError as error:
        heads = [_unplaced(str(error))]
    except RecursionError:
        heads = [_unplaced("max recursion depth exceeded")]
    except StoppedReadingError:
        pass  # the reader has the problem
    if reader.problems or heads or root is None:
        text = "\n".join([*heads, display(source, reader.problems)]).rstrip("\n")
        raise ExpressionSyntaxError(text, len(places.offsets))
    return Tree(source, root, places.offsets)


def _unplaced(text: str) -> str:
    return f"ERROR: <input>:-1:0: {text}"


def _check_depth(root: Node) -> None:
    """Refuse a tree that is too deep for its checks and for its evaluation."""
    level, depth = [root], 0
    while level:
        if depth > _MOST_DEPTH:
            raise TooLargeError("max recursion depth exceeded")
        level = [each for node in level for each in children(node)]
        depth += 1


def _finished(part: _Part) -> Node:
    """Return the result of a part, after the parts that it needs."""
    waiting = [part]
    result: Any = None
    while waiting:
        try:
            waiting.append(waiting[-1].send(result))
            result = None
        except StopIteration as end:
            waiting.pop()
            result = end.value
    found: Node = result
    return found


class _TreeParser:
    """Parser of one expression."""

    def __init__(self, reader: TokenReader, places: Places, *, has_bindings: bool) -> None:
        self._reader = reader
        self._places = places
        self._expander = Expander(places, has_bindings=has_bindings)
        self._depths: Counter[str] = Counter()

    def root(self) -> Node:
        """Return the whole expression."""
        with self._reader.inside(TokenKind.END, TokenKind.QUESTION):
            node = _finished(self._expression())
        self._reader.close(TokenKind.END)
        return node

    def _enter(self, rule: str) -> None:
        self._depths[rule] += 1
        if self._depths[rule] > _MOST_DEPTH:
            raise TooLargeError(f"expression recursion limit exceeded: {_MOST_DEPTH}")

    def _number(self, token: Token) -> int:
        return self._places.new(token.offset)

    def _failed(self, offset: int, text: str) -> Node:
        """Note a problem, and return a node that stands for the faulty part."""
        self._reader.refuse(offset, text)
        return ConstantNode(self._places.new(offset), None)

    def _call(self, place: Token, name: str, target: Node | None, *arguments: Node) -> Node:
        node = CallNode(self._number(place), name, target, arguments)
        try:
            return self._expander.expanded(node)
        except MacroError as error:
            return self._failed(self._places.offsets[error.node], str(error))

    # ------------------------------------------------------------ operators

    def _expression(self) -> _Part:
        self._enter("expression")
        node = self._lone(WHOLE_ENDS) or (yield self._any())
        if self._reader.kind is TokenKind.QUESTION:
            place = self._reader.take()
            with self._reader.inside(TokenKind.COLON):
                first = yield self._any()
            self._reader.expect(TokenKind.COLON, STARTS)
            second = yield self._expression()
            node = self._call(place, "_?_:_", None, node, first, second)
        self._depths["expression"] -= 1
        return node

    def _any(self) -> _Part:
        return self._logic(TokenKind.OR, "_||_", self._every)

    def _every(self) -> _Part:
        return self._logic(TokenKind.AND, "_&&_", self._relation)

    def _logic(self, kind: TokenKind, name: str, inner: Callable[[], _Part]) -> _Part:
        terms, operators = [(yield inner())], []
        while self._reader.kind is kind:
            operators.append(self._reader.take())
            terms.append((yield inner()))
        return self._balanced(name, terms, operators)

    def _lone(self, follow: frozenset[TokenKind]) -> Node | None:
        """Return an operand of one token without the parsers of its levels.

        Args:
            follow: tokens that follow a whole operand.
        """
        token = self._reader.token
        if token.kind not in LONE or self._reader.peek(1) not in follow:
            return None
        if token.kind is not TokenKind.NAME:
            return self._literal()
        if token.text in _RESERVED:
            return None
        return NameNode(self._number(self._reader.take()), token.text)

    def _balanced(self, name: str, terms: Sequence[Node], operators: Sequence[Token]) -> Node:
        """Return the tree of a chain of equal operators; its depth is logarithmic."""
        if not operators:
            return terms[0]
        middle = len(operators) // 2
        left = self._balanced(name, terms[: middle + 1], operators[:middle])
        right = self._balanced(name, terms[middle + 1 :], operators[middle + 1 :])
        return self._call(operators[middle], name, None, left, right)

    def _relation(self) -> _Part:
        return self._chain(RELATIONS, self._sum, 1)

    def _sum(self) -> _Part:
        return self._chain(ARITHMETIC, self._unary, 1)

    def _chain(self, operators: Operators, inner: Callable[[], _Part], least: int) -> _Part:
        """Parse operators that associate to the left.

        Args:
            operators: the operators.
            inner: parser of the operands.
            least: least precedence of the operators that belong to the part.
        """
        self._enter(operators.rule)
        node = self._lone(operators.follow) or (yield inner())
        while (level := operators.levels.get(self._reader.kind, 0)) >= least:
            place = self._reader.take()
            right = self._lone(ENDS) or (yield self._chain(operators, inner, level + 1))
            name = "@in" if place.kind is TokenKind.IN else f"_{place.text}_"
            node = self._call(place, name, None, node, right)
        self._depths[operators.rule] -= 1
        return node

    def _unary(self) -> _Part:
        self._reader.check(STARTS)
        if self._reader.kind is TokenKind.NOT:
            return (yield self._negation("!_", self._operators_not()))
        is_number = self._reader.peek(1) in _NUMBERS
        if self._reader.kind is TokenKind.MINUS and not is_number:
            return (yield self._negation("-_", self._operators_minus()))
        return (yield self._member())

    def _negation(self, name: str, operators: Sequence[Token]) -> _Part:
        node = yield self._member()
        return self._call(operators[0], name, None, node) if len(operators) % 2 else node

    def _operators_not(self) -> list[Token]:
        found = []
        while self._reader.kind is TokenKind.NOT:
            found.append(self._reader.take())
        if self._reader.kind not in STARTS:
            self._reader.stop_extraneous(STARTS)
        return found

    def _operators_minus(self) -> list[Token]:
        found = []
        while self._reader.kind is TokenKind.MINUS:
            found.append(self._reader.take())
        if self._reader.kind not in _MEMBERS:
            self._reader.stop_at(found[-1])
        return found

    # ------------------------------------------------------------ fields and calls

    def _member(self) -> _Part:
        node = yield self._primary()
        while self._reader.kind in (TokenKind.DOT, TokenKind.OPEN_BRACKET):
            is_field = self._reader.kind is TokenKind.DOT
            node = yield self._selected(node) if is_field else self._indexed(node)
        return node

    def _selected(self, operand: Node) -> _Part:
        place = self._reader.take()
        if self._reader.kind not in _FIELDS:
            self._reader.stop_at(place)
        is_optional = self._has_mark()
        self._reader.check(_NAMES)
        name = self._reader.take()
        if name.kind is TokenKind.NAME and not is_optional:
            if self._reader.kind is TokenKind.OPEN_PARENTHESIS:
                return (yield self._called(name.text, operand))
            return SelectNode(self._number(place), operand, name.text, False)
        field = self._field(name)
        if not is_optional:
            return SelectNode(self._number(place), operand, field, False)
        constant = ConstantNode(self._number(name), field)
        return self._call(place, "_?._", None, operand, constant)

    def _indexed(self, operand: Node) -> _Part:
        place = self._reader.take()
        self._reader.check(_ITEMS)
        name = "_[?_]" if self._has_mark() else "_[_]"
        with self._reader.inside(TokenKind.CLOSE_BRACKET, TokenKind.QUESTION):
            index = yield self._expression()
        self._reader.close(TokenKind.CLOSE_BRACKET)
        return self._call(place, name, None, operand, index)

    def _called(self, name: str, target: Node | None) -> _Part:
        place = self._reader.take()
        self._reader.check(STARTS | {TokenKind.CLOSE_PARENTHESIS})
        arguments: list[Node] = []
        ends = TokenKind.COMMA, TokenKind.CLOSE_PARENTHESIS, TokenKind.QUESTION
        with self._reader.inside(*ends):
            if self._reader.kind is not TokenKind.CLOSE_PARENTHESIS:
                arguments.append((yield self._expression()))
            while self._reader.kind is TokenKind.COMMA:
                self._reader.take()
                arguments.append((yield self._expression()))
        self._reader.close(TokenKind.CLOSE_PARENTHESIS)
        return self._call(place, name, target, *arguments)

    def _has_mark(self) -> bool:
        """Take the mark of an optional part, and return whether there is one."""
        is_optional = self._reader.kind is TokenKind.QUESTION
        if is_optional:
            self._reader.take()
        return is_optional

    def _field(self, name: Token) -> str:
        """Return the name of a field; names in backquotes are no syntax of Kubernetes."""
        if name.kind is TokenKind.QUOTED_NAME:
            self._reader.refuse(name.offset, "unsupported syntax: '`'")
        return name.text

    # ------------------------------------------------------------ operands

    def _primary(self) -> _Part:
        kind = self._reader.kind
        if kind is TokenKind.OPEN_PARENTHESIS:
            return (yield self._nested())
        if kind is TokenKind.OPEN_BRACKET:
            return (yield self._list())
        if kind is TokenKind.OPEN_BRACE:
            return (yield self._map())
        if kind in (TokenKind.DOT, TokenKind.NAME):
            return (yield self._named())
        return self._literal()

    def _nested(self) -> _Part:
        self._reader.take()
        with self._reader.inside(TokenKind.CLOSE_PARENTHESIS, TokenKind.QUESTION):
            node = yield self._expression()
        self._reader.close(TokenKind.CLOSE_PARENTHESIS)
        return node

    def _literal(self) -> Node:
        token = self._reader.take()
        kind, text = token.kind, token.text
        if kind is TokenKind.MINUS:
            if self._reader.kind not in _NUMBERS:
                self._reader.stop_at(token)
            number = self._reader.take()
            kind, text = number.kind, f"-{number.text}"
        try:
            return ConstantNode(self._number(token), literal_value(kind, text))
        except LiteralValueError as error:
            return self._failed(token.offset, str(error))

    def _named(self) -> _Part:
        start = self._reader.token
        prefix = ""
        if start.kind is TokenKind.DOT:
            prefix = self._reader.take().text
        if self._reader.kind is not TokenKind.NAME:
            self._reader.stop_at(start)
        if self._is_struct():
            return (yield self._struct(prefix))
        name = self._reader.take()
        is_call = self._reader.kind is TokenKind.OPEN_PARENTHESIS
        if name.text in _RESERVED:
            if is_call:
                yield self._called("", None)
            return self._failed(start.offset, f"reserved identifier: {name.text}")
        if is_call:
            return (yield self._called(prefix + name.text, None))
        return NameNode(self._number(name), prefix + name.text)

    def _is_struct(self) -> bool:
        """True if the next tokens are the name of a type and a brace."""
        distance = 1
        while self._reader.peek(distance) is TokenKind.DOT:
            if self._reader.peek(distance + 1) is not TokenKind.NAME:
                return False
            distance += 2
        return self._reader.peek(distance) is TokenKind.OPEN_BRACE

    def _list(self) -> _Part:
        place = self._reader.take()
        self._reader.check(_ITEMS | {TokenKind.CLOSE_BRACKET, TokenKind.COMMA})
        items: list[Node] = []
        optional: set[int] = set()
        with self._reader.inside(TokenKind.CLOSE_BRACKET, TokenKind.COMMA, TokenKind.QUESTION):
            while self._has_part(_ITEMS, is_first=not items):
                if self._has_mark():
                    optional.add(len(items))
                items.append((yield self._expression()))
        self._end_parts(TokenKind.CLOSE_BRACKET, is_empty=not items)
        return ListNode(self._number(place), tuple(items), frozenset(optional))

    def _map(self) -> _Part:
        place = self._reader.take()
        self._reader.check(_ITEMS | {TokenKind.CLOSE_BRACE, TokenKind.COMMA})
        entries: list[Entry] = []
        while self._has_part(_ITEMS, is_first=not entries):
            is_optional = self._has_mark()
            with self._reader.inside(TokenKind.COLON, TokenKind.QUESTION):
                key = yield self._expression()
            number = self._number(self._reader.expect(TokenKind.COLON, STARTS))
            entries.append(Entry(number, key, (yield self._value()), is_optional))
        self._end_parts(TokenKind.CLOSE_BRACE, is_empty=not entries)
        return MapNode(self._number(place), tuple(entries))

    def _struct(self, name: str) -> _Part:
        while self._reader.kind is not TokenKind.OPEN_BRACE:
            name += self._reader.take().text
        place = self._reader.take()
        self._reader.check(_FIELDS | {TokenKind.CLOSE_BRACE, TokenKind.COMMA})
        entries: list[Entry] = []
        while self._has_part(_FIELDS, is_first=not entries):
            is_optional = self._has_mark()
            self._reader.check(_NAMES)
            field = self._field(self._reader.take())
            number = self._number(self._reader.expect(TokenKind.COLON, STARTS))
            entries.append(Entry(number, field, (yield self._value()), is_optional))
        self._end_parts(TokenKind.CLOSE_BRACE, is_empty=not entries)
        return StructNode(self._number(place), name, tuple(entries))

    def _value(self) -> _Part:
        """Parse the value of an entry."""
        with self._reader.inside(TokenKind.CLOSE_BRACE, TokenKind.COMMA, TokenKind.QUESTION):
            return (yield self._expression())

    def _has_part(self, starts: frozenset[TokenKind], *, is_first: bool) -> bool:
        """Return whether a part follows; the comma before it is taken."""
        if is_first:
            return self._reader.kind in starts
        has_part = self._reader.kind is TokenKind.COMMA and self._reader.peek(1) in starts
        if has_part:
            self._reader.take()
        return has_part

    def _end_parts(self, end: TokenKind, *, is_empty: bool) -> None:
        """Take the end of a literal, and the comma before it."""
        if not is_empty:
            self._reader.check(frozenset((end, TokenKind.COMMA)))
        if self._reader.kind is TokenKind.COMMA:
            self._reader.take()
        self._reader.close(end)
