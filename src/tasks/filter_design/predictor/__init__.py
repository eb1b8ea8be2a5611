"""Designs LC ladder filters from standard parts: a mask in, ranked netlists out.

It is copied into every bundle and imports nothing of plumbline. A strategy proposes ladders, a
search shared by all strategies rounds them to a series of parts, simulates them and changes one
part after the other; every simulation is a call, and no row has more calls than its budget. Rows
are answered one by one, so that a row in company is rounded as it is alone, and in units of the
pass edge, so that a filter at ten times the frequency has the same digits.

Shapes: D ladders, P parts (in the order of branches from the source; a resonator is its inductor,
then its capacitor), N branches, F frequencies. Logs are natural, of w L / z0 and of w C z0.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from threadpoolctl import ThreadpoolController

from .answer import DesignPlan, answer_spec
from .networks import Diffusion, LadderGenerator, Regression
from .rows import check_param, read_specs
from .strategies import MAX_BUDGET, Strategy, Textbook

RANKS = ("margin", "yield", "pareto")
MAX_DESIGNS, MAX_DRAWS = 10, 10_000


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the bundle in `folder`; raises ValueError for a form that it does not have."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    path = folder / "model.safetensors"
    weights = load_file(path) if path.exists() else {}
    strategy = STRATEGIES[config["kind"]](config, weights)
    predictor = Predictor(strategy, form, int(config["calls"]))
    if path.exists():
        predictor.num_bytes = path.stat().st_size
    return predictor


class Predictor:
    """Designs for each row; safe to share between threads."""

    forms = ("exact",)

    def __init__(self, strategy: "Strategy", form: str | None = None, calls: int = 64) -> None:
        if form not in (None, *self.forms):
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        self.num_bytes = 0
        self.calls = calls
        self._strategy = strategy
        self._threads = ThreadpoolController()

    def predict(
        self,
        columns: Mapping[str, Sequence[Any]],
        designs: int = 3,
        budget: int | None = None,
        rank: str = "margin",
        draws: int = 500,
    ) -> dict[str, list[Any]]:
        """Design each row within `budget` calls of the simulator (None: as in the bundle).

        `designs`: how many are returned, ranked by `rank`, those that meet the mask first; by
        `pareto` those that none other beats in margin, yield and few parts, the fewest first.
        `draws`: of parts within their tolerance, for the yield; 0: no yield.
        Raises ValueError that names a bad row or param.
        """
        check_param("designs", designs, 1, MAX_DESIGNS)
        budget = self.calls if budget is None else budget
        check_param("budget", budget, 1, MAX_BUDGET)
        check_param("draws", draws, 0, MAX_DRAWS)
        if not isinstance(rank, str) or rank not in RANKS:
            raise ValueError(f"rank: expected {', '.join(RANKS)}, found {rank!r:.60}")
        if rank != "margin" and draws == 0:
            raise ValueError(f"rank: {rank} needs draws of parts: leave out draws, or set 500")
        plan = DesignPlan(designs, budget, rank, draws)
        answers: dict[str, list[Any]] = {}
        with self._threads.limit(limits=1, user_api="blas"):  # products are small
            for spec in read_specs(columns):
                for name, value in answer_spec(spec, self._strategy, plan).items():
                    answers.setdefault(name, []).append(value)
        return answers


class TextbookPredictor(Predictor):
    """A predictor without files."""

    def __init__(self, calls: int = 64) -> None:
        super().__init__(Textbook({}, {}), calls=calls)


STRATEGIES: dict[str, Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], Strategy]] = {
    "textbook": Textbook,
    "diffusion": Diffusion,
    "gan": LadderGenerator,
    "regression": Regression,
}
