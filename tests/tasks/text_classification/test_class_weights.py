"""Class weights and label smoothing: what they change, and that without them nothing changes."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from tests.support.small_texts import small_params, write_examples
from torch.nn import functional

from plumbline.contract.errors import ParamsError
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.models.designs import weigh_classes
from plumbline.tasks.text_classification.models.texts import LabelledTexts, TrainingTexts
from plumbline.tasks.text_classification.params import TextParams

LABELS = ["common"] * 90 + ["rare"] * 10


def _texts() -> TrainingTexts:
    counts = Counter(LABELS)
    train = LabelledTexts(Path(), "train", has_sets=False, num_rows=100, label_counts=counts)
    return TrainingTexts(train, train, ["common", "rare"], 4000)


def _change(name: str, **values: object) -> TextParams:
    """Return small params with other values of one candidate."""
    params = small_params()
    changed = params.candidates[name].model_copy(update=values)
    return params.model_copy(update={"candidates": {**params.candidates, name: changed}})


def test_balanced_weights_make_all_classes_count_alike() -> None:
    weights = weigh_classes("balanced", _texts())
    assert weights is not None
    np.testing.assert_allclose(weights.numpy(), [100 / 180, 100 / 20], rtol=1e-6)


def test_weights_of_params_have_the_mean_1_over_the_rows() -> None:
    weights = weigh_classes({"rare": 4.0}, _texts())
    assert weights is not None
    assert weights[1] / weights[0] == pytest.approx(4)
    assert (90 * weights[0] + 10 * weights[1]) / 100 == pytest.approx(1)
    assert weigh_classes("none", _texts()) is None


def test_a_class_that_train_does_not_have_is_an_error() -> None:
    with pytest.raises(ParamsError, match=r"the label 'rarre' \(did you mean rare\?\)"):
        weigh_classes({"rarre": 2.0}, _texts())


@pytest.mark.parametrize("weights", ["balance", {"rare": 0.0}, {"rare": -1.0}, {}])
def test_other_weights_are_refused(weights: object) -> None:
    config = small_params().candidates["linear"]
    with pytest.raises(ValidationError):
        type(config).model_validate(config.model_dump() | {"class_weights": weights})


@pytest.mark.parametrize("name", ["linear", "transformer", "linears"])
def test_the_loss_is_that_of_each_row_by_its_weight(name: str, tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    values = {"class_weights": {"login": 5.0}, "label_smoothing": 0.2}
    params = _change(name, **values)
    if name == "linears":
        member = params.candidates["linear"].model_copy(update=values)
        params = _change(name, member=member)
    learner = build_learner(params, name, tmp_path / "examples")
    module = learner.module.eval()
    batch = learner.data.train.__getitems__(list(range(20)))
    logits = torch.randn(20, 3)
    weights = module.class_weights[batch["labels"]]
    losses = functional.cross_entropy(
        logits, batch["labels"], label_smoothing=0.2, reduction="none"
    )
    torch.testing.assert_close(module.compute_losses(logits, batch["labels"]), losses * weights)
    assert learner.monitor == "validation/objective"
    assert torch.isfinite(module.training_step(batch))
