"""How good each answer is, what the baseline is, and what has to hold."""

import numpy as np

from plumbline.contract.records import Bound, Case, Scores
from shapes.data import SHAPES, draw_shape, read_split
from shapes.predictor import SIZE


class NearestMean:
    """Answers the label whose mean picture is closest."""

    forms = ("exact",)

    def __init__(self, pictures, labels):
        self._means = np.stack([pictures[labels == shape].mean(axis=0) for shape in SHAPES])

    def predict(self, columns):
        pictures = np.array(columns["pixels"])[:, None]
        distances = ((pictures - self._means) ** 2).sum(axis=(2, 3))
        labels = [SHAPES[place] for place in distances.argmin(axis=1)]
        return {"label": labels, "score": [1.0] * len(labels)}


def score(examples, split, predictor):
    pictures, labels = read_split(examples, split)
    answers = predictor.predict({"pixels": pictures.tolist()})
    right = (np.array(answers["label"]) == labels).astype(float)
    columns = {"accuracy": right, "confidence": np.array(answers["score"])}
    return Scores(columns, {"accuracy": float(right.mean())})


def score_answer(answer, truth):
    if truth not in SHAPES:
        raise ValueError(f"expected one of {', '.join(SHAPES)}, found {truth!r:.40}")
    return float(answer["label"] == truth)


def build_baselines(params, examples):
    return {"nearest mean": NearestMean(*read_split(examples, "train"))}


def compute_bound(params, examples, split):
    return Bound(None, "how often noise hides a shape is not known")


def check_answers(columns, params, answers):
    wrong = [row for row, score in enumerate(answers["score"]) if not 0 <= score <= 1]
    return [f"row {row}: score is no probability" for row in wrong]


def build_longest_input(predictor):
    return {"pixels": [np.full((SIZE, SIZE), 255).tolist()]}


def check_behaviour(params, examples, predictor):
    inputs = read_split(examples, "test")[0][:100]
    labels = predictor.predict({"pixels": inputs.tolist()})["label"]
    mirrored = predictor.predict({"pixels": inputs[:, :, ::-1].tolist()})["label"]
    other = [f"row {row}" for row, label in enumerate(labels) if mirrored[row] != label]
    clean = np.stack([draw_shape(shape, SIZE / 2, SIZE / 2, SIZE / 4) for shape in SHAPES])
    told = predictor.predict({"pixels": (80 + 100 * clean).astype(int).tolist()})["label"]
    wrong = [shape for shape, label in zip(SHAPES, told, strict=True) if shape != label]
    return [
        Case.build("a mirrored picture", "invariance", other, len(labels)),
        Case.build("a picture without noise", "minimum", wrong, len(SHAPES)),
    ]


def draw_figures(params, candidates):
    return []
