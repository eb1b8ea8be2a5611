"""Bundles of small candidates, trained as the stage `train` does."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.support.small_texts import (
    CANDIDATES,
    accept_small_splits,
    small_params,
    write_examples,
)

from plumbline import bundle
from plumbline.contract import layout
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK
from plumbline.training import fitting

SHARED = "trained-on-texts"  # for make_once


def train_on_texts(folder: Path) -> None:
    """Train and seal every candidate of `small_params` in `folder`."""
    write_examples(folder / layout.EXAMPLES)
    train_candidates(folder, accept_small_splits(small_params()), (*CANDIDATES, "linears"))


def train_candidates(folder: Path, params: TextParams, names: Iterable[str]) -> None:
    """Train and seal these candidates in `folder`, which has the examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in names:
            learner = build_learner(params, name, folder / layout.EXAMPLES)
            fitting.fit(learner, params, name)
            (folder / name).mkdir()
            learner.save(folder / name)
            bundle.seal(folder / name, TASK, name)
