"""A question to the gates, made of single facts: what a gate computes may be given as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from plumbline.contract.params import Evaluation
from plumbline.contract.records import Bound, Candidate, Case, ExportDifference, Leak, Scores
from plumbline.contract.task import Metric
from plumbline.evidence import gates
from plumbline.evidence.choice import Choice
from plumbline.evidence.compare import Slice
from plumbline.evidence.records import ChampionFacts, DataFacts, RuntimeFacts
from plumbline.evidence.scores import CHAMPION, Key, ScoreTable
from plumbline.evidence.uncertainty import SelectiveAnswers
from plumbline.registry.ledger import Look
from plumbline.statistics.calibration import CalibrationFinding
from plumbline.statistics.error_ordering import ErrorOrdering
from plumbline.statistics.parity import VariantParity
from plumbline.statistics.seeds import SeedSpread

PLAN = "20 uses at 0.95"
LOOK = Look("question", "split", PLAN, 3, PLAN, 1)


@dataclass(frozen=True)
class Facts:
    """What a question is made of; what is not given is left out, or sound."""

    metric: Metric
    limits: Evaluation
    winner: np.ndarray = field(default_factory=lambda: np.zeros(2))
    winner_validation: np.ndarray = field(default_factory=lambda: np.zeros(2))
    baselines: Mapping[str, np.ndarray] = field(default_factory=dict)
    simple: np.ndarray | None = None
    controls: Mapping[str, np.ndarray] = field(default_factory=dict)
    named_controls: Sequence[str] = ()
    champion: np.ndarray | None = None
    predicted: Sequence[Mapping[str, np.ndarray]] = ({}, {})  # by winner and champion
    champion_lag: float | None = 0.0
    is_champion: bool = False
    data_changes: Mapping[str, Any] | None = None
    seeds: SeedSpread | None = None
    level: float = 0.05 / 20
    look: Look = LOOK
    choice: Choice = field(default_factory=lambda: Choice("winner", ("winner",), "it is the best"))
    bound: Bound = field(default_factory=lambda: Bound(None, ""))
    slices: Sequence[Slice] = ()
    calibration: CalibrationFinding | None = None
    orderings: Mapping[str, ErrorOrdering] = field(default_factory=dict)
    selective: SelectiveAnswers | None = None
    form: str = "fp32"
    parity: VariantParity | None = None
    cost: Mapping[str, float] = field(default_factory=dict)
    manifest: pd.DataFrame = field(default_factory=pd.DataFrame)
    digests: Mapping[str, str] = field(default_factory=dict)
    validation: Mapping[str, Any] = field(default_factory=dict)
    suite: str = ""
    leaks: Sequence[Leak] = ()
    behaviour: Sequence[Case] = ()
    export: Sequence[ExportDifference] = ()
    answers: Sequence[str] = ()
    replay: Sequence[str] = ()

    def build(self) -> gates.GateQuestion:
        """Build the question; findings that are given are not computed."""
        look, leaks = self.look, tuple(self.leaks)
        data = DataFacts(self.digests, self.validation, self.suite, leaks, look)
        runtime = RuntimeFacts(
            cost={},
            forms=({"name": self.form},),
            rehearsal={"problems": list(self.replay)},
            answers=tuple(self.answers),
            export=tuple(self.export),
            behaviour=tuple(self.behaviour),
        )
        known, scores = None, dict[Key, Scores]()
        if self.champion is not None:
            changes = None if self.data_changes is None else {"data": self.data_changes}
            lag, is_same = self.champion_lag, self.is_champion
            known = ChampionFacts("model", "7", "bundle", {}, lag, changes, is_same)
            champion = {self.metric.name: self.champion, **self.predicted[1]}
            scores["champion", CHAMPION, "test"] = Scores(champion, {})
        table = ScoreTable(self.metric, scores, self.bound, self.manifest)
        name, metric = self.choice.winner, self.metric.name
        validation = Scores({metric: self.winner_validation}, {})
        test = Scores({metric: self.winner, **self.predicted[0]}, {})
        winner = Candidate(name, validation, test, None, {}, 0)
        asked = gates.GateQuestion(data, table, known, runtime, self.limits, [winner], self.choice)
        given = (
            "baselines", "simple", "controls", "named_controls", "champion", "seeds", "level",
            "slices", "calibration", "selective", "cost", "parity",
        )  # fmt: skip
        vars(asked).update({name: getattr(self, name) for name in given})
        vars(asked)["orderings"] = {name: self.orderings}
        return asked


def ask_gate(name: str, facts: Facts) -> gates.GateResult:
    """Ask one gate."""
    (gate,) = [result for result in gates.run_gates(facts.build()) if result.name == name]
    return gate
