"""The gate to a table: questions in, answers or refusals out, and a ledger that records them all."""

from __future__ import annotations

import hmac
import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from unveil.arguments import DefaultNumber, DefaultText, checked_arguments, checked_word, named
from unveil.attributes import Names
from unveil.errors import ArgumentError, listed, shown
from unveil.ledger import Book, Entry, Ledger
from unveil.mechanisms import Account, BudgetSpentError, PrivacyLedger, PrivacyLoss
from unveil.queries.answers import Answer, BudgetUse, Explanation, Number
from unveil.queries.described import described
from unveil.queries.disclosure import LedgerDisclosure, disclosed
from unveil.queries.holding import Holding, Selection
from unveil.queries.inquiry import Inquiry, Statistic
from unveil.queries.parsing import inquiry_of_sql
from unveil.queries.policies import POLICIES
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, refused
from unveil.queries.problems import QuestionError
from unveil.run import active_run, looks, to_the_end

if TYPE_CHECKING:
    from unveil.sources import Data

__all__ = ["Gate"]

_LONGEST_NAME = 100
_POLICY, _NULLS, _CONTRIBUTION = DefaultText("restriction"), DefaultText("error"), DefaultNumber(1)
"""The defaults if neither the call nor a project sets a value."""


@checked_arguments
class Gate:
    """Protected access to a table, for people who may not see its records.

    Parameters
    ----------
    data
        A path, a built-in data set's name, a data frame, a table in an engine, a study or a project. The section `query` of the
        project and its roles supply the arguments that the call leaves open.
    ledger
        The file that records all questions and answers; if there is none, it is created, with its secret key beside it.
    policy
        A policy or its name ("open", "restriction", "differential", "sticky", "records", "camouflage"); or policies by column,
        with the one for all others under "*".
    key, sensitive
        The columns that conditions may use, and those to protect. Without a key, all columns that are not sensitive;
        for a study or project, none that identifies persons or households.
    bounds
        The least and the greatest value that a record can have, by sensitive column, known without looking at the data.
    values
        The declared values of key columns, if groups must not depend on the data.
    nulls
        "error": refuse sensitive columns with nulls. "drop": records without a value do not count in sums and averages.
    person, contribution
        For differential privacy: the column that identifies the person of a record, and the most records of one person that
        count.
    key_file
        The ledger's secret key, if it is not beside the ledger.
    dialect
        The SQL dialect of questions; None: the common parts of most dialects.
    shared
        A ledger of budgets (`unveil.mechanisms.PrivacyLedger`), open or as a path, from which releases and other gates also
        spend: the losses of differentially private answers are also recorded there, and an answer that would exceed that budget
        is refused.

    Examples
    --------
    >>> import tempfile, unveil
    >>> folder = tempfile.TemporaryDirectory()
    >>> gate = unveil.Gate("adult", ledger=f"{folder.name}/gate.db", policy="restriction", sensitive="hours-per-week")
    >>> gate.ask("SELECT COUNT(*) FROM adult WHERE sex = 'Female'", analyst="eve").value
    9782
    >>> gate.ask("SELECT COUNT(*) FROM adult WHERE age > 89 AND sex = 'Female' AND race = 'Other'", analyst="eve").reason
    'size'
    >>> gate.close(); folder.cleanup()
    """

    def __init__(  # noqa: PLR0913 - a public door
        self,
        data: Data,
        *,
        ledger: str | os.PathLike[str] = "gate.db",
        policy: str | GatePolicy | Mapping[str, str | GatePolicy] = _POLICY,
        key: Names | None = None,
        sensitive: Names | None = None,
        bounds: Mapping[str, Sequence[float]] | None = None,
        values: Mapping[str, Sequence[Any]] | None = None,
        nulls: str = _NULLS,
        person: str | None = None,
        contribution: int = _CONTRIBUTION,
        key_file: str | os.PathLike[str] | None = None,
        dialect: str | None = None,
        shared: Account | None = None,
    ) -> None:
        checked_word("nulls", nulls, ("error", "drop"))
        said = described(
            data, key=key, sensitive=sensitive, policy=named(policy), bounds=bounds, values=values, nulls=named(nulls),
            person=person, contribution=named(contribution), dialect=dialect,
        )  # fmt: skip
        limits = {name: _bounds(name, pair) for name, pair in said.bounds.items()}
        self._holding = Holding(
            data, key=said.key, sensitive=said.sensitive, bounds=limits, nulls=said.nulls, person=said.person,
            contribution=said.contribution,
        )  # fmt: skip
        self._policies = _policies(said.policy, self._holding)
        if shared is not None and not all(one.losses("count") for one in self._policies.values()):
            raise ArgumentError("only differential privacy spends from a shared ledger: other policies state no loss.")
        self._values = {name: tuple(some) for name, some in said.values.items()}
        self._dialect = said.dialect
        active_run().check()
        self.ledger = Ledger(ledger, key_file)
        about = {
            "key": sorted(self._holding.key), "sensitive": sorted(self._holding.sensitive), "nulls": said.nulls,
            "person": said.person, "contribution": said.contribution,
            "bounds": {name: list(pair) for name, pair in sorted(limits.items())},
            "policies": {name: one.settings() for name, one in sorted(self._policies.items())},
        }  # fmt: skip
        self.ledger.bind(policy=json.dumps(about, sort_keys=True, default=str), data=self._holding.cells.fingerprint.hex())
        self._shared = PrivacyLedger(shared) if isinstance(shared, str | os.PathLike) else shared
        self._keepers: dict[str, Keeper] = {}
        self._turn = threading.RLock()

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that conditions may use."""
        return self._holding.key

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that are protected."""
        return self._holding.sensitive

    @property
    def records(self) -> int:
        """The number of records; not for analysts."""
        return self._holding.records

    @property
    def policies(self) -> Mapping[str, GatePolicy]:
        """The policies by column, with the one for all others under "*"."""
        return dict(self._policies)

    @checked_arguments
    def ask(self, question: str | Inquiry, *, analyst: str = "analyst") -> Answer:
        """Answer or refuse a question, after recording the decision in the ledger; once it is recorded, it is also given.

        Parameters
        ----------
        question
            SQL, or a question built by `unveil.queries.count`, `total` or `average`.
        analyst
            The name of the analyst: on the command line a mere label, at a served gate proved by a token.

        Raises
        ------
        QuestionError
            If the question is not understood or not allowed, whatever the data.
        LedgerError
            If the ledger cannot be read or written, or its chain is broken.
        """
        _check_analyst(analyst)
        with self._turn:
            return self._answered(*self._selections(question), analyst)

    def _answered(self, inquiry: Inquiry, selections: Sequence[Selection], analyst: str) -> Answer:
        """Decide, record the decision, and only then answer; refused groups are left out without a trace."""
        for policy in {self._policy(one) for one in selections}:
            policy.prepare()
        try:
            with self.ledger.book() as book:
                self._catch_up(book)
                active_run().check()
                with nullcontext() if self._shared is None else to_the_end():  # what the shared ledger is charged is answered
                    numbers, entries = self._decide(book, selections, analyst)
                accounts = {self._policy(one).name: self._policy(one) for one in selections}
                spent = sum(policy.spent(book.spent(name, analyst)) for name, policy in accounts.items())
        except BaseException:
            self._forget()
            raise
        costs = sum(accounts[entry.account].spent(entry.cost) for entry in entries)
        kept = numbers
        if inquiry.by:
            nameless = Number(Statistic(inquiry.aggregates[0], inquiry.where), numbers[0].decision)
            kept = [one for one in numbers if one.answered] or [nameless]
        unit, names = " + ".join(sorted({one.unit for one in accounts.values()})), " + ".join(sorted(accounts))
        return Answer(tuple(kept), costs, spent, unit, analyst, names, self.ledger.head)

    @looks
    @checked_arguments
    def explain(self, question: str | Inquiry, *, analyst: str = "analyst") -> Explanation:
        """Estimate the cost of a question, without asking it, spending or recording anything.

        Parameters
        ----------
        question, analyst
            As for `ask`.
        """
        _check_analyst(analyst)
        with self._turn:
            return self._explained(self._read(question), analyst)

    def _explained(self, inquiry: Inquiry, analyst: str) -> Explanation:
        groups: list[tuple[tuple[str, Any], ...]] = [()] if not inquiry.by else self._declared(inquiry) or [()]
        selections = [self._select(one) for one in inquiry.statistics(groups)]
        rows = []
        for one in selections:
            policy, keeper = self._policy(one), self._keeper(self._policy(one))
            reason = keeper.offers(one)
            rows.append(
                {
                    "number": Number(one.statistic, Decision()).label,
                    "policy": policy.name,
                    "cost": 0.0 if reason else policy.spent(keeper.price(one)),
                    "unit": policy.unit,
                    "within_95": None if reason else keeper.accuracy(one),
                    "refused": reason or None,
                }
            )
        used = {self._policy(one).name: self._policy(one) for one in selections}
        with self.ledger.book() as book:
            budget = {name: _budget(book, policy, analyst) for name, policy in used.items()}
        return Explanation(tuple(rows), budget, tuple(note for policy in used.values() for note in policy.notes()))

    def spent(self, analyst: str | None = None) -> dict[str, dict[str, float]]:
        """Return the spending from each policy's account, by analyst, with the totals under "*"."""
        named = {policy.name: policy for policy in self._policies.values()}
        totals: dict[str, dict[str, float]] = {}
        for entry in self.history():
            policy = named[entry.account]
            for who in (entry.analyst, "*"):
                account = totals.setdefault(who, dict.fromkeys(named, 0.0))
                account[entry.account] += policy.spent(entry.cost)
        return totals if analyst is None else {analyst: totals.get(analyst, dict.fromkeys(named, 0.0))}

    def history(self, analyst: str | None = None) -> list[Entry]:
        """Check the ledger's chain, and return its entries for all analysts or for one."""
        return self.ledger.history(analyst)

    @looks
    def attack(self) -> LedgerDisclosure:
        """Compute the disclosure by all answers together: the remaining interval of every atom, as a Discrimination Rate.

        Returns
        -------
        LedgerDisclosure
            For the data steward, not for analysts.
        """
        return disclosed(self._holding, self.history(), {policy.name: policy for policy in self._policies.values()})

    def close(self) -> None:
        """Close the ledgers."""
        self.ledger.close()
        if self._shared is not None:
            self._shared.close()

    def _read(self, question: str | Inquiry) -> Inquiry:
        names = (*self._holding.key, *self._holding.sensitive)
        inquiry = question if isinstance(question, Inquiry) else inquiry_of_sql(question, names, self._dialect)
        for name in inquiry.by:
            if name not in self._holding.key:
                raise QuestionError.closed_column(name, "in GROUP BY", self._holding.key)
        return inquiry

    def _selections(self, question: str | Inquiry) -> tuple[Inquiry, list[Selection]]:
        """Return the requested numbers of a question, each with the records it is about."""
        inquiry = self._read(question)
        if inquiry.by and self._closed(inquiry):
            groups = self._declared(inquiry) or [tuple((name, None) for name in inquiry.by)]
        else:
            groups = self._holding.groups(inquiry.by, inquiry.where) or [()]
        return inquiry, [self._select(one) for one in inquiry.statistics(groups)]

    def _select(self, statistic: Statistic) -> Selection:
        """Return the records that a number is about, unless the run is cancelled."""
        active_run().check()
        return self._holding.select(statistic)

    def _closed(self, inquiry: Inquiry) -> bool:
        """Whether the existence of groups is also protected."""
        policies = [self._policy_of(one.column, inquiry.where.columns) for one in inquiry.aggregates]
        return any(policy.closed_groups for policy in policies)

    def _declared(self, inquiry: Inquiry) -> list[tuple[tuple[str, Any], ...]]:
        """Return the declared groups; none if the values of some column are not declared."""
        if any(name not in self._values for name in inquiry.by):
            return []
        groups: list[tuple[tuple[str, Any], ...]] = [()]
        for name in inquiry.by:
            groups = [(*group, (name, value)) for group in groups for value in self._values[name]]
        return groups

    def _decide(self, book: Book, selections: Sequence[Selection], analyst: str) -> tuple[list[Number], list[Entry]]:
        """Decide about every number and record it; refuse all new numbers of a policy whose budget does not cover them."""
        marks = [self._mark(one) for one in selections]
        known = {mark: entry for mark in marks if (entry := book.equal(mark)) is not None}
        short = self._unaffordable(book, selections, marks, known, analyst)
        numbers, entries = [], []
        for one, mark in zip(selections, marks, strict=True):
            active_run().check()
            policy = self._policy(one)
            repeated = known.get(mark)
            decision = _remembered(repeated) if repeated else self._decided(policy, one, short)
            price = 0 if repeated or decision.reason else self._keeper(policy).price(one)
            word = "repeated" if repeated else "refused" if decision.reason else "answered"
            entry = book.write(
                {
                    "analyst": analyst, "account": policy.name, "question": one.statistic.written(), "mark": mark,
                    "decision": word, "reason": decision.reason, "answer": json.dumps(decision.to_dict()), "cost": price,
                }
            )  # fmt: skip
            if word == "answered":
                known[mark] = entry
            numbers.append(Number(one.statistic, decision, repeated is not None))
            entries.append(entry)
        return numbers, entries

    def _decided(self, policy: GatePolicy, selection: Selection, short: Mapping[str, str]) -> Decision:
        keeper = self._keeper(policy)
        undeclared = policy.closed_groups and any(name not in self._values for name, _ in selection.statistic.group)
        reason = "group-keys" if undeclared else keeper.offers(selection) or short.get(policy.name, "")
        return refused(reason) if reason else keeper.decide(selection)

    def _unaffordable(
        self,
        book: Book,
        selections: Sequence[Selection],
        marks: Sequence[str],
        known: Mapping[str, Entry],
        analyst: str,
    ) -> dict[str, str]:
        """Return the policies whose budget does not cover the new numbers of a question, with the reason."""
        prices: dict[str, int] = {}
        losses: dict[str, list[PrivacyLoss]] = {}
        new = {mark: one for mark, one in zip(marks, selections, strict=True) if mark not in known}
        for one in new.values():
            policy = self._policy(one)
            if not self._keeper(policy).offers(one):
                prices[policy.name] = prices.get(policy.name, 0) + self._keeper(policy).price(one)
                losses.setdefault(policy.name, []).extend(policy.losses(one.function))
        short = {}
        for policy in self._policies.values():
            own, whole = policy.limits
            price = prices.get(policy.name, 0)
            over = own is not None and book.spent(policy.name, analyst) + price > own
            over = over or (whole is not None and book.spent(policy.name) + price > whole)
            if price and (over or not self._shares(losses[policy.name])):
                short[policy.name] = policy.exhausted
        return short

    def _shares(self, losses: Sequence[PrivacyLoss]) -> bool:
        """Whether the shared ledger, if there is one, covers the losses, which are then recorded there."""
        if self._shared is None or not losses:
            return True
        try:
            self._shared.spend("answers of a gate", losses, "record" if self._holding.person is None else "person")
        except BudgetSpentError:
            return False
        return True

    def _catch_up(self, book: Book) -> None:
        """Inform the policies of the answers of other processes."""
        for entry in book.news():
            if entry.decision == "answered":
                selection = self._select(Statistic.read(entry.question))
                self._keeper(self._policy(selection)).accept(selection)

    def _forget(self) -> None:
        """Start over from the ledger, because decisions that were not recorded must not count."""
        self._keepers = {}
        self.ledger.forget()

    def _mark(self, selection: Selection) -> str:
        """Return the mark that equal questions share: that of the set if sets are public, otherwise that of the wording."""
        policy = self._policy(selection)
        by_set = policy.by_set and not selection.indicator
        content = selection.mark() if by_set else selection.statistic.written().encode(errors="surrogatepass")
        return hmac.digest(self.ledger.secret("marks"), policy.name.encode() + b"\0" + content, "sha256").hex()

    def _policy(self, selection: Selection) -> GatePolicy:
        return self._policy_of(selection.statistic.aggregate.column, selection.statistic.condition.columns)

    def _policy_of(self, column: str | None, conditions: frozenset[str]) -> GatePolicy:
        """Return the policy of the sensitive columns that a number is about, or else the policy for all other columns."""
        about = ({column} | conditions) & set(self._holding.sensitive)
        policies = {self._policies.get(str(name), self._policies["*"]) for name in about} or {self._policies["*"]}
        if len(policies) > 1:
            raise QuestionError("the question is about columns with different policies; ask about one of them at a time.")
        return policies.pop()

    def _keeper(self, policy: GatePolicy) -> Keeper:
        if policy.name not in self._keepers:
            self._keepers[policy.name] = policy.keeper(self._holding, self.ledger.secret)
        return self._keepers[policy.name]


def _policies(policy: str | GatePolicy | Mapping[str, str | GatePolicy], holding: Holding) -> dict[str, GatePolicy]:
    """Return the policies by column, with the one for all others under "*"."""
    stated = {"*": policy} if isinstance(policy, str | GatePolicy) else dict(policy)
    for name in stated:
        if name != "*" and name not in holding.sensitive:
            raise ArgumentError(
                f"column {shown(name)} has a policy, but is not one of the sensitive columns: {listed(holding.sensitive)}."
            )
    if "*" not in stated:
        raise ArgumentError('policies by column need one for all others, under "*".')
    policies: dict[str, GatePolicy] = {}
    for name, one in stated.items():
        if isinstance(one, str):
            checked_word("policy", one, tuple(POLICIES))
        policies[name] = POLICIES[one]() if isinstance(one, str) else one
    by_name: dict[str, GatePolicy] = {}
    for one in policies.values():
        if by_name.setdefault(one.name, one) != one:
            raise ArgumentError(f"the policy {one.name!r} is given with different settings; a gate has only one of each.")
    return policies


def _bounds(name: str, pair: Sequence[float]) -> tuple[float, float]:
    if len(pair) != 2 or not float(pair[0]) < float(pair[1]) or not all(abs(float(end)) < 1e15 for end in pair):  # noqa: PLR2004
        raise ArgumentError(f"the bounds of column {shown(name)} must be two finite numbers, the lower one first.")
    return float(pair[0]), float(pair[1])


def _check_analyst(analyst: str) -> None:
    if not analyst.strip() or len(analyst) > _LONGEST_NAME or not analyst.isprintable() or analyst == "*":
        raise ArgumentError(f"an analyst's name must be a printable text of up to {_LONGEST_NAME} characters.")


def _budget(book: Book, policy: GatePolicy, analyst: str) -> BudgetUse:
    own, whole = (None if limit is None else policy.spent(limit) for limit in policy.limits)
    spent, all_spent = (policy.spent(book.spent(policy.name, who)) for who in (analyst, None))
    return BudgetUse(policy.unit, spent, own, all_spent, whole, policy.guarantee())


def _remembered(entry: Entry) -> Decision:
    """Return the decision of an entry."""
    content = json.loads(entry.answer)
    return Decision(
        value=content.get("value"), low=content.get("low"), high=content.get("high"), error=content.get("error"),
        notes=content.get("notes", {}),
    )  # fmt: skip
