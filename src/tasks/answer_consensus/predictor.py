"""Whom to ask next, whether to stop, and what to answer: a policy over several agents.

It is copied into every bundle and imports nothing of plumbline. Ask and tell: a row is one question
as far as it is known, that is which agents were asked so far (`agents`), what each of them answered
(`answers`; empty where it gave no answer) and what is left to spend on the question (`budget`).
The answer names the agent to `ask` next; where it is empty, the policy is done, and `answer` is its
answer. `answer` and `confidence`, the probability that it is right, are the best so far in any row.

Nothing depends on the text of an answer, but which answers are equal, nor on the order of a row.
Shapes: A agents; E elements of a choice: the R different answers, and "none of them".
"""

import functools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

UNASKED, SILENT = 0, -1  # places of a state that are no group: not asked, gave no answer
DIGITS = 9  # of probabilities that are compared: sums may differ in the order of their terms
MAX_KEPT = 50_000  # states whose probabilities are remembered
NUMBER = re.compile(r"-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")
MAX_CHARS = 10_000  # of an answer, from its end
PLACES, EXACT = Decimal("0.0001"), Context(prec=MAX_CHARS + 10)  # of numbers that are compared


# What is known of one question: for each agent its group of equal answers, UNASKED or SILENT.
# Groups are numbered from 1 in the order of the agents, not of the row.
State = tuple[int, ...]


class KnownQuestion(NamedTuple):
    """One row, after checks."""

    state: State
    texts: dict[int, str]  # of each group, as the best of its agents wrote it
    budget: float


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the bundle in `folder`; raises ValueError for a form that it does not have."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    return Predictor(config, form)


class Predictor:
    """One decision for each row; safe to share between threads."""

    forms = ("exact",)

    def __init__(self, config: Mapping[str, Any], form: str | None = None) -> None:
        if form not in (None, *self.forms):
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        self.agents: list[str] = config["agents"]
        self.costs: list[float] = config["costs"]  # of asking each, in the mean
        self._places = {name: place for place, name in enumerate(self.agents)}
        self._normalise = find_normaliser(config["normalise"])
        self._rank: list[int] = config["rank"]  # of each agent, 0 for the best
        self._plan: list[int] = config["plan"]  # whom to ask, in this order where `by_value` is off
        self._by_value: bool = config["by_value"]
        self._stop_at: float | None = config["stop_at"]
        self._habits = Habits(config["accuracy"], config["agreement"])
        remember = functools.lru_cache(MAX_KEPT)
        self._score = remember(Additive(config["scorer"]).score)
        self._rate_agents = remember(self._compute_values)

    def predict(
        self, columns: Mapping[str, Sequence[Any]], stop_at: float | None = None
    ) -> dict[str, list[Any]]:
        """Say for each row whom to ask next (empty: nobody), and the best answer so far.

        `stop_at`: no more agents are asked once the confidence reaches this; None: as trained.
        Raises ValueError that names a bad row.
        """
        if stop_at is not None and not (_is_number(stop_at) and 0 <= stop_at <= 1):
            raise ValueError(f"stop_at: expected a number from 0 to 1, found {stop_at!r:.60}")
        stop_at = self._stop_at if stop_at is None else stop_at
        answers: dict[str, list[Any]] = {"ask": [], "answer": [], "confidence": [], "votes": []}
        for row in self._read_rows(columns):
            for name, value in self._answer(row, stop_at).items():
                answers[name].append(value)
        return answers

    def compute_shares(self, state: State) -> np.ndarray:
        """Compute the probability of each group, and last of "none of them" [R + 1]."""
        return self._score(state)

    def _answer(self, row: KnownQuestion, stop_at: float | None) -> dict[str, Any]:
        shares = self.compute_shares(row.state)
        best_rank = {
            group: min(self._rank[a] for a, g in enumerate(row.state) if g == group)
            for group in row.texts
        }
        ranked = sorted(
            row.texts,
            key=lambda group: (-round(float(shares[group - 1]), DIGITS), best_rank[group]),
        )
        votes = [
            {"answer": row.texts[group], "share": float(shares[group - 1])} for group in ranked
        ]
        confidence = float(shares[ranked[0] - 1]) if ranked else 0.0
        is_sure = stop_at is not None and bool(votes) and round(confidence, DIGITS) >= stop_at
        return {
            "ask": "" if is_sure else self._choose_agent(row),
            "answer": votes[0]["answer"] if votes else "",
            "confidence": confidence,
            "votes": votes,
        }

    def _choose_agent(self, row: KnownQuestion) -> str:
        """Return the agent to ask next; empty where none is left that the budget pays for."""
        left = [
            place
            for place in self._plan
            if row.state[place] == UNASKED and self.costs[place] <= row.budget
        ]
        if not left:
            return ""
        if not self._by_value:
            return self.agents[left[0]]
        values = self._rate_agents(row.state)
        return self.agents[max(left, key=lambda place: (values[place], -self._rank[place]))]

    def _compute_values(self, state: State) -> dict[int, float]:
        """Rate what an answer of each agent that is left is worth: how much surer, for its price.

        Surer: the expected sum of squared probabilities of the answers, less what it is now (the
        Gini index of Breiman et al. 1984; unlike the expected top probability it also values the
        first of two answers that together would change the decision).
        """
        shares = self.compute_shares(state)
        values = {}
        for place in self._plan:
            if state[place] != UNASKED:
                continue
            gain = -float((shares[:-1] ** 2).sum())
            chances = self._habits.expect_answers(state, shares, place)
            for group, chance in enumerate(chances, start=1):
                expected = self.compute_shares(_add_answer(state, place, group))
                gain += float(chance) * float((expected[:-1] ** 2).sum())
            values[place] = round(gain / self.costs[place], DIGITS)
        return values

    def _read_rows(self, columns: Mapping[str, Sequence[Any]]) -> list[KnownQuestion]:
        for name in ("agents", "answers", "budget"):
            if name not in columns:
                listed = ", ".join(map(repr, columns)) or "no columns"
                raise ValueError(f"no column {name!r}; found {listed}")
        if not len(columns["agents"]) == len(columns["answers"]) == len(columns["budget"]):
            raise ValueError("columns of different lengths: every row has agents and answers")
        rows = zip(columns["agents"], columns["answers"], columns["budget"], strict=True)
        checked = []
        for number, row in enumerate(rows):
            try:
                checked.append(self._check_row(*row))
            except ValueError as error:
                raise ValueError(f"row {number}: {error}") from None
        return checked

    def _check_row(self, agents: Any, answers: Any, budget: Any) -> KnownQuestion:
        places = [self._find_agent(name) for name in _check_texts("agents", agents)]
        texts = _check_texts("answers", answers)
        twice = [name for name in agents if list(agents).count(name) > 1]
        for name in twice:
            raise ValueError(f"agents: {name!r} is there twice; send each agent's answer once")
        if len(places) != len(texts):
            raise ValueError(
                f"{len(places)} agents and {len(texts)} answers; send one answer for each agent, "
                "empty where it gave none"
            )
        if not _is_number(budget):
            raise ValueError(f"budget: expected a number, found {budget!r:.60}")
        state, shown = self._group_answers(dict(zip(places, texts, strict=True)))
        return KnownQuestion(state, shown, float(budget))

    def _group_answers(self, answered: Mapping[int, str]) -> tuple[State, dict[int, str]]:
        """Number the groups of equal answers, and choose which of its texts is shown."""
        numbers: dict[str, int] = {}
        groups = [UNASKED] * len(self.agents)
        speakers: dict[int, int] = {}
        for place in sorted(answered):
            key = self._normalise(answered[place])
            groups[place] = numbers.setdefault(key, len(numbers) + 1) if key else SILENT
            best = speakers.setdefault(groups[place], place)
            if self._rank[place] < self._rank[best]:
                speakers[groups[place]] = place
        shown = {group: answered[place] for group, place in speakers.items() if group > 0}
        return tuple(groups), shown

    def _find_agent(self, name: str) -> int:
        if name not in self._places:
            raise ValueError(f"agents: {name!r:.60}; the model knows {', '.join(self.agents)}")
        return self._places[name]


class Habits:
    """How agents answer: `accuracy` [A], and `agreement` [A, A] of two that are both wrong."""

    def __init__(self, accuracy: Sequence[float], agreement: Sequence[Sequence[float]]) -> None:
        self._accuracy = np.array(accuracy)
        self._agreement = np.array(agreement)

    def expect_answers(self, groups: Sequence[int], shares: np.ndarray, place: int) -> np.ndarray:
        """Expect what the agent at `place` answers: one of the groups, or last a new one [R + 1].

        It is right with its accuracy. Wrong, it joins a wrong group as often as it agrees with the
        closest of the agents there when both are wrong.
        """
        num_groups = len(shares) - 1
        joins = np.zeros(num_groups)
        for other, group in enumerate(groups):
            if group > 0:
                joins[group - 1] = max(joins[group - 1], self._agreement[place, other])
        # If element e is right: the share of wrong answers that go to each other group [E, R].
        wrong = np.tile(joins, (num_groups + 1, 1))
        wrong[np.arange(num_groups), np.arange(num_groups)] = 0.0
        wrong /= np.maximum(1.0, wrong.sum(axis=1, keepdims=True))
        accuracy = self._accuracy[place]
        chances = shares[:-1] * accuracy + (1 - accuracy) * (shares @ wrong)
        return np.append(chances, max(0.0, 1.0 - float(chances.sum())))


class Additive:
    """The conditional logit (McFadden 1974): an answer's utility is the sum of its voters' weights.

    That none is right has a utility of its own, which each answer that was given changes.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._favour = np.array(config["favour"])  # [A]
        self._none = float(config["none"])
        self._none_each = np.array(config["none_each"])  # [A]

    def score(self, state: State) -> np.ndarray:
        """Return the probabilities [R + 1] of a state."""
        groups = np.array(state)
        utilities = np.zeros(max(0, *state) + 1)
        for place in range(len(utilities) - 1):
            utilities[place] = self._favour[groups == place + 1].sum()
        utilities[-1] = self._none + self._none_each[groups > 0].sum()
        weights = np.exp(utilities - utilities.max())
        shares: np.ndarray = weights / weights.sum()
        return shares


def normalise_case(text: str) -> str:
    """Return the text in lower case, with single blanks."""
    return " ".join(text.casefold().split())


def normalise_number(text: str) -> str:
    """Return the last number in the text, without commas, to 4 places; empty without one."""
    numbers = NUMBER.findall(text[-MAX_CHARS:])
    if not numbers:
        return ""
    value = Decimal(numbers[-1].replace(",", "")).quantize(PLACES, context=EXACT)
    plain = f"{value:f}".rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


def find_normaliser(name: str) -> Callable[[str], str]:
    """Return what `data.normalise` names; nothing is left of a text that gives no answer."""
    return NORMALISERS[name]


NORMALISERS: dict[str, Callable[[str], str]] = {
    "exact": str.strip,
    "casefold": normalise_case,
    "number": normalise_number,
}


def _add_answer(state: State, place: int, group: int) -> State:
    """Return the state after the agent at `place` gave the answer of `group`, which may be new.

    Groups get new numbers, in the order of the agents.
    """
    raw = list(state)
    raw[place] = group
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(one, len(numbers) + 1) if one > 0 else one for one in raw)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _check_texts(name: str, values: Any) -> list[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{name}: expected an array of texts, found {values!r:.60}")  # noqa: TRY004 (a bad row)
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"{name}: expected texts, found {value!r:.60}")  # noqa: TRY004 (a bad row)
    return list(values)
