"""The parser of questions in SQL: sqlglot's tree is translated node by node, and any node that is not listed is refused.

No part of the text reaches an engine. A node is accepted only with the parts that are listed for it here, so that a clause that
sqlglot knows but that is not listed (a window, a join, a sample, a cast, a hint) is refused and not overlooked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from unveil.errors import MissingExtraError
from unveil.queries.inquiry import Aggregate, Function, Inquiry
from unveil.queries.predicates import All, AnyOf, Compared, Missing, Negated, Predicate
from unveil.queries.problems import QuestionError

__all__ = ["condition_of_sql", "dialects", "inquiry_of_sql"]

_LONGEST = 10_000
_MOST_DIGITS = 30
_DEEPEST = 100


def dialects() -> list[str]:
    """Return the dialects that sqlglot reads; none without the extra that includes it."""
    try:
        from sqlglot.dialects.dialect import Dialects
    except ImportError:
        return []
    return [one.value for one in Dialects if one.value]


def inquiry_of_sql(text: str, names: Sequence[str], dialect: str | None = None) -> Inquiry:
    """Read one SELECT of aggregates over the table.

    Parameters
    ----------
    text
        The statement.
    names
        The table's columns.
    dialect
        The dialect in which sqlglot reads it; None: its own, which covers most of SQL.

    Examples
    --------
    >>> inquiry_of_sql("SELECT AVG(salary) FROM people WHERE town = 'Rennes'", ["salary", "town"]).aggregates[0]
    Aggregate(function='avg', column='salary')
    """
    select = _statement(text, dialect)
    reader = _Reader(names)
    reader.only(select, "expressions", "from_", "where", "group")
    reader.table(select.args.get("from_"))
    by = reader.groups(select.args.get("group"))
    aggregates = tuple(one for item in select.expressions if (one := reader.selected(item, by)) is not None)
    where = select.args.get("where")
    return Inquiry(aggregates, All(()) if where is None else reader.where(where), by)


def condition_of_sql(text: str, names: Sequence[str], dialect: str | None = None) -> Predicate:
    """Read a condition as written after WHERE.

    Examples
    --------
    >>> condition_of_sql("Age >= 35", ["Age"])
    Compared(column='Age', sign='>=', constant=35)
    """
    return inquiry_of_sql(f"SELECT COUNT(*) FROM data WHERE {text}", names, dialect).where  # noqa: S608 - it is parsed, not run


def _statement(text: str, dialect: str | None) -> Any:
    """Parse a text that must contain one SELECT and no comments."""
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise MissingExtraError.needed("a question in SQL", extra="query") from None
    if len(text) > _LONGEST:
        raise QuestionError(f"the question has {len(text):,} characters; the gate reads up to {_LONGEST:,}.")
    try:
        reading = sqlglot.Dialect.get_or_raise(dialect)
    except ValueError:
        raise QuestionError("sqlglot does not know this dialect; name one such as duckdb, postgres, mysql, spark.") from None
    try:
        commented = _has_comment(text, reading.tokenize(text))
        trees = [tree for tree in sqlglot.parse(text, dialect=reading) if tree is not None]
    except Exception:  # noqa: BLE001 - besides its own errors, the parser fails in other ways on some texts
        raise QuestionError("the question cannot be read as SQL; check its brackets, quotes and keywords.") from None
    if commented:
        raise QuestionError.not_allowed("a comment")
    if len(trees) != 1:
        raise QuestionError.not_allowed("no statement" if not trees else "several statements")
    if type(trees[0]) is not exp.Select:
        raise QuestionError.not_allowed(f"a statement other than SELECT ({_named(trees[0])})")
    return trees[0]


def _has_comment(text: str, tokens: Sequence[Any]) -> bool:
    """Return whether there is a comment: attached to a token, or dropped, which leaves text between tokens."""
    ends = [0, *(token.end + 1 for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    between = (text[end:start] for end, start in zip(ends, starts, strict=True))
    return any(token.comments for token in tokens) or any(part.strip() for part in between)


def _named(node: Any) -> str:
    return type(node).__name__.upper()


class _Reader:
    """A translator of the nodes of one statement; every method accepts one kind of node with certain parts."""

    def __init__(self, names: Sequence[str]) -> None:
        from sqlglot import exp

        self._exp, self._names, self._depth = exp, tuple(names), 0
        self._signs = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
        self._turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        self._functions: dict[Any, Function] = {
            exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "var", exp.Min: "min", exp.Max: "max",
        }  # fmt: skip
        self._conditions: dict[Any, Callable[[Any], Predicate]] = {
            exp.And: lambda node: All((self._side(node, "this"), self._side(node, "expression"))),
            exp.Or: lambda node: AnyOf((self._side(node, "this"), self._side(node, "expression"))),
            exp.Not: lambda node: Negated(self._side(node, "this")),
            exp.Paren: lambda node: self._side(node, "this"),
            exp.Between: self._between,
            exp.In: self._in,
            exp.Is: self._is,
            **dict.fromkeys(self._signs, self._compared),
        }

    def only(self, node: Any, *parts: str) -> None:
        """Refuse a node with any part that is not listed."""
        for part, value in node.args.items():
            if part not in parts and value is not None and value is not False and value != []:
                raise QuestionError.not_allowed(f"{part.strip('_').upper()} in {_named(node)}")

    def table(self, clause: Any) -> None:
        """Accept one table by a plain name, which is ignored because there is only one table."""
        exp = self._exp
        if clause is None:
            raise QuestionError("the question has no FROM; name the table.")
        self.only(clause, "this")
        if type(clause.this) is not exp.Table:
            raise QuestionError.not_allowed(f"{_named(clause.this)} in FROM")
        self.only(clause.this, "this")
        if type(clause.this.this) is not exp.Identifier:
            raise QuestionError.not_allowed(f"{_named(clause.this.this)} in FROM")

    def groups(self, clause: Any) -> tuple[str, ...]:
        """Return the columns of GROUP BY."""
        if clause is None:
            return ()
        self.only(clause, "expressions")
        by = tuple(self._column(node, "in GROUP BY") for node in clause.expressions)
        if not by or len(set(by)) < len(by):
            raise QuestionError("GROUP BY must name columns, each once.")
        return by

    def selected(self, node: Any, by: Sequence[str]) -> Aggregate | None:
        """Return an aggregate of the SELECT list; None for a column of GROUP BY, which is also allowed there."""
        exp = self._exp
        if type(node) is exp.Alias:
            self.only(node, "this", "alias")
            node = node.this
        if type(node) is exp.Column:
            if self._column(node, "in SELECT") not in by:
                raise QuestionError.not_allowed("a column outside of an aggregate and GROUP BY")
            return None
        function = self._functions.get(type(node))
        if function is None:
            raise QuestionError.not_allowed(f"{_named(node)} in SELECT")
        self.only(node, "this", "big_int")
        if type(node.this) is exp.Star:
            self.only(node.this)
            if function != "count":
                raise QuestionError.not_allowed("a star in an aggregate other than COUNT")
            return Aggregate("count")
        return Aggregate(function, self._column(node.this, "in an aggregate"))

    def where(self, clause: Any) -> Predicate:
        """Return the condition of WHERE."""
        self.only(clause, "this")
        return self._condition(clause.this)

    def _condition(self, node: Any) -> Predicate:
        translate = self._conditions.get(type(node))
        if translate is None:
            raise QuestionError.not_allowed(f"{_named(node)} in WHERE")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise QuestionError.not_allowed("too many nested conditions")
        try:
            return translate(node)
        finally:
            self._depth -= 1

    def _side(self, node: Any, part: str) -> Predicate:
        self.only(node, "this", "expression")
        return self._condition(node.args[part])

    def _compared(self, node: Any) -> Predicate:
        self.only(node, "this", "expression")
        sign, left, right = self._signs[type(node)], node.this, node.expression
        if type(right) is self._exp.Column and type(left) is not self._exp.Column:
            sign, left, right = self._turned.get(sign, sign), right, left
        return Compared(self._column(left, "in WHERE"), sign, self._constant(right))

    def _between(self, node: Any) -> Predicate:
        self.only(node, "this", "low", "high")
        column = self._column(node.this, "in WHERE")
        low, high = (self._constant(node.args[part]) for part in ("low", "high"))
        return All((Compared(column, ">=", low), Compared(column, "<=", high)))

    def _in(self, node: Any) -> Predicate:
        self.only(node, "this", "expressions")
        column = self._column(node.this, "in WHERE")
        several = tuple(Compared(column, "=", self._constant(item)) for item in node.expressions)
        if not several:
            raise QuestionError("IN needs a list of constants.")
        return several[0] if len(several) == 1 else AnyOf(several)

    def _is(self, node: Any) -> Predicate:
        self.only(node, "this", "expression")
        column = self._column(node.this, "in WHERE")
        if type(node.expression) is not self._exp.Null:
            raise QuestionError.not_allowed(f"IS {_named(node.expression)}")
        return Missing(column)

    def _column(self, node: Any, place: str) -> str:
        """Return a column by its plain name; unless it is quoted, the case may differ."""
        exp = self._exp
        if type(node) is not exp.Column:
            raise QuestionError.not_allowed(f"{_named(node)} {place}")
        self.only(node, "this")
        identifier = node.this
        if type(identifier) is not exp.Identifier:
            raise QuestionError.not_allowed(f"{_named(identifier)} {place}")
        name = identifier.name
        if name in self._names:
            return str(name)
        alike = [] if identifier.args.get("quoted") else [one for one in self._names if one.casefold() == name.casefold()]
        if len(alike) != 1:
            raise QuestionError.closed_column(name, place, self._names)
        return alike[0]

    def _constant(self, node: Any) -> Any:
        exp = self._exp
        if type(node) is exp.Neg:
            self.only(node, "this")
            number = self._constant(node.this)
            if isinstance(number, bool | str | date):
                raise QuestionError.not_allowed("a sign before something that is not a number")
            return -number
        if type(node) is exp.Boolean:
            return bool(node.this)
        if type(node) is exp.Cast and node.to.this == exp.DataType.Type.DATE and type(node.this) is exp.Literal:
            return self._date(node)
        if type(node) is not exp.Literal:
            raise QuestionError.not_allowed(f"{_named(node)} in the place of a constant")
        self.only(node, "this", "is_string")
        return str(node.this) if node.is_string else _number(str(node.this))

    def _date(self, node: Any) -> date:
        """Read DATE '2020-01-31', which sqlglot reads as a cast."""
        try:
            return date.fromisoformat(str(node.this.this))
        except ValueError:
            raise QuestionError("a date is written as DATE 'YYYY-MM-DD'.") from None


def _number(text: str) -> int | float | Decimal:
    """Read a number: a whole number exactly, any other as the nearest floating-point number."""
    if len(text) > _MOST_DIGITS:
        raise QuestionError(f"a number may have at most {_MOST_DIGITS} digits.")
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise QuestionError.not_allowed("something that is not a number") from None
