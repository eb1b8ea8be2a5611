"""The recipe imdb, on a folder of the form that the hub has."""

import random
from pathlib import Path

import pandas as pd
import pytest
from tests.support.small_texts import ROOT

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.loading import load_params
from plumbline.evidence.predictors import score_split
from plumbline.evidence.uncertainty import measure_orderings, measure_selective
from plumbline.statistics.power import count_explained_rows
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK
from plumbline.training import fitting

GOOD = ["moving", "brilliant", "loved", "superb", "funny", "touching"]
BAD = ["dull", "awful", "boring", "wooden", "waste", "clumsy"]
PLAIN = ["film", "the", "a", "plot", "actor", "scene", "was", "and", "ending", "music", "of", "it"]
NUM_ROWS = {"train": 1200, "test": 400, "unsupervised": 50}


def write_reviews(folder: Path) -> None:
    """Write one Parquet file a split, its labels numbers with names, and the card of all splits.

    A split without labels has -1.
    """
    from datasets import ClassLabel, Dataset, Features, Value

    (folder / "plain_text").mkdir(parents=True)
    features = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})
    draw = random.Random(3)
    for split, num_rows in NUM_ROWS.items():
        labels = [number % 2 for number in range(num_rows)]  # all of one class stand together
        labels = sorted(labels) if split != "unsupervised" else [-1] * num_rows
        texts = [_draw_review(draw, label) for label in labels]
        rows = Dataset.from_dict({"text": texts, "label": labels}, features=features)
        rows.to_parquet(folder / "plain_text" / f"{split}-00000-of-00001.parquet")
    lines = ["---", "configs:", "- config_name: plain_text", "  data_files:"]
    for split in NUM_ROWS:
        lines += [f"  - split: {split}", f"    path: plain_text/{split}-*"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")


def _draw_review(draw: random.Random, label: int) -> str:
    words = draw.choices(PLAIN, k=draw.randint(8, 20))
    for number in range(draw.randint(1, 4)):
        is_honest = number == 0 or draw.random() < 0.7
        words += draw.choices(GOOD if bool(label) == is_honest else BAD)
    draw.shuffle(words)
    return " ".join(words).replace("plot", "plot.<br /><br />", 1)


@pytest.fixture
def params(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TextParams:
    """The recipe with a local folder as its source, and rows enough for a risk of a tenth."""
    monkeypatch.setenv("HF_HOME", str(folder / "hub"))
    write_reviews(Path("data/raw/imdb"))
    recipe = load_params(ROOT / "recipes/imdb.yaml")
    data = recipe.data.model_copy(update={"source": "hf://./data/raw/imdb"})
    selective = recipe.evaluation.selective.model_copy(update={"risk": 0.1})
    evaluation = recipe.evaluation.model_copy(update={"selective": selective})
    return recipe.model_copy(update={"data": data, "evaluation": evaluation})


@pytest.mark.slow
def test_reviews_of_the_hubs_form_train_an_ensemble_that_keeps_its_risk(params: TextParams) -> None:
    layout.EXAMPLES.mkdir(parents=True)
    facts = TASK.data.ingest(params, layout.EXAMPLES, layout.MANIFEST)
    rows = pd.read_parquet(layout.MANIFEST)
    assert set(rows["label"]) == {"neg", "pos"}
    assert set(rows["split"]) == {"train", "validation", "test"}
    assert "unsupervised" in str(facts)

    learner = build_learner(params, "ensemble", layout.EXAMPLES)
    fitting.fit(learner, params, "ensemble")
    folder = layout.locate_bundle("ensemble")
    folder.mkdir(parents=True)
    learner.save(folder)
    bundle.seal(folder, TASK, "ensemble")

    predictor = bundle.load(folder)
    validation, test = (score_split(TASK, split, predictor) for split in ("validation", "test"))
    orderings = measure_orderings(test, TASK.metric, 0.95)
    assert orderings["total"].auroc > 0.6
    answers = measure_selective(validation, test, TASK.metric, params.evaluation)
    assert answers.selection is not None
    assert answers.num_unexpected == 0
    assert answers.num_wrong <= count_explained_rows(answers.num_answered, 0.1)
    assert 0 < answers.num_answered < answers.num_rows
