"""From a candidate's parameters to a Learner; each kind's libraries are imported only for that kind."""

from pathlib import Path

from plumbline.contract.errors import TrainingError
from plumbline.contract.task import Learner
from plumbline.tasks.text_classification.data import read
from plumbline.tasks.text_classification.models.batches import Texts
from plumbline.tasks.text_classification.models.forms import wanted
from plumbline.tasks.text_classification.params import Linear, TextParams, Transformer


def learner(params: TextParams, candidate: str, examples: Path) -> Learner:
    """The model and batches of `candidate`, ready for training; `examples` is the folder that ingest wrote."""
    shape = params.candidates[candidate]
    train, validation = _read(examples, "train"), _read(examples, "validation")
    classes = sorted(set(train.labels))
    if len(classes) < 2:
        raise TrainingError(
            f"candidates.{candidate}: one class in the train split ({classes}); nothing can be learned"
        )
    asked = wanted(shape, params.evaluation)
    if isinstance(shape, Linear):
        from plumbline.tasks.text_classification.models.linear import linear

        return linear(shape, params.seed, classes, train, validation, asked)
    from plumbline.tasks.text_classification.models import encoder

    if isinstance(shape, Transformer):
        return encoder.transformer(shape, params.seed, classes, train, validation, asked)
    return encoder.pretrained(shape, params.seed, classes, train, validation, asked)


def _read(examples: Path, split: str) -> Texts:
    table = read(examples, split, ["text", "label"])
    return Texts(table["text"].to_pylist(), table["label"].to_pylist())
