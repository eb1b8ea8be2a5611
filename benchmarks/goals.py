"""Filters of several goals: our search beside Optuna's, with as many calls of the simulator.

python -m benchmarks.goals

The goals are margin, yield and few parts. All begin with the textbook's filters. What they find is
measured by the volume that it dominates, of margins up to 1 dB, parts from 8 down, and yields; the
last column is the interval of its difference from ours.
"""

import time
import warnings
from dataclasses import asdict
from functools import partial

import numpy as np
import optuna
from optuna._hypervolume import compute_hypervolume
from optuna.samplers import BaseSampler, NSGAIISampler, TPESampler
from tests.support.small_filters import list_values

from plumbline.statistics.intervals import compute_mean_interval
from tasks.filter_design.data.generated import draw_specifications
from tasks.filter_design.data.specifications import list_columns
from tasks.filter_design.params import GeneratedSpecifications
from tasks.filter_design.predictor import TextbookPredictor
from tasks.filter_design.predictor.answer import measure_yield
from tasks.filter_design.predictor.ladder import TOPOLOGIES, build_ladder, measure_margins
from tasks.filter_design.predictor.rows import Spec, read_specs
from tasks.filter_design.predictor.search import FilterDesign, convert_steps, round_ladders
from tasks.filter_design.predictor.strategies import Textbook, list_orders

NUM_MASKS = 60
STEPS = 12  # of its series that Optuna may move a part from the textbook's
SEARCHES = {
    "plumbline": None,
    "Optuna, NSGA-II": partial(NSGAIISampler, population_size=24, seed=0),
    "Optuna, TPE": partial(TPESampler, multivariate=True, group=True, seed=0),
}
Goals = list[tuple[float, int, float]]  # margin in dB, parts, yield of each design


def ask_plumbline(spec: Spec, budget: int) -> Goals:
    """Return the goals of the designs that rank=pareto answers."""
    columns = {name: [value] for name, value in asdict(spec).items()}
    answers = TextbookPredictor().predict(columns, rank="pareto", designs=10, budget=budget)
    designs = answers["designs"][0]
    return [(one["margin_db"], one["order"], one["yield_share"]) for one in designs]


def ask_optuna(spec: Spec, budget: int, sampler: BaseSampler) -> Goals:
    """Return the goals of all designs that a study simulated."""
    study = optuna.create_study(directions=["maximize", "minimize", "maximize"], sampler=sampler)
    orders, starts = list_orders(spec), {}
    for order in orders:
        ladder = build_ladder(spec, order)
        starts[order] = round_ladders(ladder, ladder.references, np.arange(2))
        family = Textbook({}, {}).propose(ladder, budget // len(orders) // 2)
        for steps, topology in zip(round_ladders(ladder, *family), family.topologies, strict=True):
            moves = np.clip(steps - starts[order][topology], -STEPS, STEPS)
            parts = {f"part {place}": int(move) for place, move in enumerate(moves)}
            study.enqueue_trial({"order": order, "topology": int(topology), **parts})
    found: Goals = []

    def simulate(trial: optuna.Trial) -> tuple[float, int, float]:
        order = trial.suggest_categorical("order", orders)
        topology = trial.suggest_categorical("topology", [0, 1])
        ladder, chosen = build_ladder(spec, order), np.array([topology])
        places = range(ladder.num_parts)
        moves = np.array([trial.suggest_int(f"part {at}", -STEPS, STEPS) for at in places])
        logs = convert_steps(ladder, (starts[order][topology] + moves)[None], chosen)
        margin = float(measure_margins(ladder, logs, chosen)[0])
        design = FilterDesign(TOPOLOGIES[topology], order, np.exp(logs[0]), margin, 1, logs[0])
        share = measure_yield(spec, design, 500).yield_share if margin >= 0 else 0.0
        found.append((margin, order, share))
        return found[-1]

    study.optimize(simulate, n_trials=budget)
    return found


def measure_volume(goals: Goals) -> float:
    """Return the volume that designs dominate; 0 where none meets the mask."""
    losses = [(-min(margin, 1), parts / 8, -share) for margin, parts, share in goals if margin >= 0]
    if not losses:
        return 0.0
    return float(compute_hypervolume(np.unique(losses, axis=0), np.array([0.0, 1.0, 0.0])))


def main() -> None:
    """Print a row for each search and number of calls."""
    values = list_values()["data"]["generated"] | {"open_order": 1.0, "impossible": 0.0}
    settings = GeneratedSpecifications.model_validate(values)
    masks = draw_specifications(settings, NUM_MASKS, np.random.default_rng(0))
    specs = read_specs(list_columns(masks))
    print("| search | calls | CPU, a mask | masks met | volume | less ours |")
    for budget in (64, 256):
        ours = np.zeros(NUM_MASKS)
        for name, build in SEARCHES.items():
            began = time.process_time()
            if build is None:
                goals = [ask_plumbline(spec, budget) for spec in specs]
            else:
                goals = [ask_optuna(spec, budget, build()) for spec in specs]
            cost = 1000 * (time.process_time() - began) / NUM_MASKS
            volumes = np.array([measure_volume(one) for one in goals])
            ours = volumes if build is None else ours
            met = np.mean([max(one)[0] >= 0 for one in goals])
            low, high = compute_mean_interval(volumes - ours, "continuous", 0.95)
            figures = f"{cost:.0f} ms | {met:.2f} | {volumes.mean():.3f} | {low:.3f} to {high:.3f}"
            print(f"| {name} | {budget} | {figures} |", flush=True)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    main()
