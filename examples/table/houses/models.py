"""How candidates learn, and what they save: one JSON file of numbers."""

import json

import numpy as np

from houses.data import PRICE, read_inputs, read_rows
from houses.predictor import CATEGORIES, NUMBERS, Model, encode
from plumbline.contract.errors import TrainingError
from plumbline.contract.records import Learner


def compare_export(params, candidate, folder, columns):
    return []  # the predictor reads the weights themselves


def build_learner(params, candidate, examples):
    config, weights = params.candidates[candidate], {}
    train, inputs = read_rows(examples, "train"), read_inputs(examples, "train")

    def solve():
        weights["medians"] = {name: float(train[name].median()) for name in NUMBERS}
        weights["known"] = {name: sorted(train[name].dropna().unique()) for name in CATEGORIES}
        fit = fit_linear if config.kind == "linear" else fit_trees
        learned, expected = fit(config, encode(inputs, weights), train[PRICE], params.seed)
        weights.update(learned)
        answers = Model(weights).predict(inputs)["price"]
        if not np.allclose(answers, expected, rtol=1e-6):
            raise TrainingError(f"{candidate}: the predictor does not answer as scikit-learn does")

    def save(folder):
        (folder / "model.json").write_text(json.dumps(weights))

    return Learner(save, solve)


def fit_linear(config, features, prices, seed):
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=config.alpha).fit(features, prices)
    learned = {"slopes": model.coef_.tolist(), "start": float(model.intercept_)}
    return learned, model.predict(features)


def fit_trees(config, features, prices, seed):
    from sklearn.ensemble import GradientBoostingRegressor

    settings = config.model_dump(exclude={"kind"})
    model = GradientBoostingRegressor(**settings, random_state=seed).fit(features, prices)
    nodes = {"roots": [], "left": [], "right": [], "feature": [], "threshold": [], "gains": []}
    for (estimator,) in model.estimators_:
        tree, start = estimator.tree_, len(nodes["left"])
        is_leaf, places = tree.children_left < 0, start + np.arange(tree.node_count)
        nodes["roots"].append(start)
        nodes["left"] += np.where(is_leaf, places, start + tree.children_left).tolist()
        nodes["right"] += np.where(is_leaf, places, start + tree.children_right).tolist()
        nodes["feature"] += np.maximum(tree.feature, 0).tolist()
        nodes["threshold"] += tree.threshold.tolist()
        nodes["gains"] += (config.learning_rate * tree.value[:, 0, 0]).tolist()
    learned = {"start": float(model.init_.constant_.item()), "depth": config.max_depth, **nodes}
    return learned, model.predict(features)
