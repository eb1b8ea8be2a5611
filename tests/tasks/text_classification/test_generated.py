"""The embedded tickets: reproducible, as noisy as stated, hard for a bag of words, no copies."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from plumbline.contract.loading import load_params
from plumbline.tasks.text_classification.data import ingest, read_split
from plumbline.tasks.text_classification.data.generated import draw_ticket
from plumbline.tasks.text_classification.params import TextParams

ROOT = Path(__file__).parents[3]


def make_params(**generated: Any) -> TextParams:
    values = json.loads(load_params(ROOT / "recipes/text_classification.yaml").model_dump_json())
    values["data"]["source"] = "generated"
    values["data"]["generated"] |= generated
    return TextParams.model_validate(values)


def run_ingest(params: TextParams, out: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    out.mkdir()
    facts = ingest(params, out, out / "manifest.parquet")
    return facts, pq.read_table(out / "manifest.parquet").to_pylist()


@pytest.fixture(scope="module")
def default(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    out = tmp_path_factory.mktemp("generated") / "out"
    return *run_ingest(make_params(num_rows=4500, label_noise=0.04, drift=0.0), out), out


def test_the_ceiling_is_the_share_of_true_labels(default: tuple[Any, Any, Path]) -> None:
    facts, rows, out = default
    for split, ceiling in facts["generated"]["ceiling"].items():
        noisy = [row["noisy"] for row in rows if row["split"] == split]
        assert ceiling == pytest.approx(1 - sum(noisy) / len(noisy))
    assert facts["generated"]["noisy_share"] == pytest.approx(0.04, abs=0.01)
    assert "noisy" not in read_split(out, "train").column_names


def test_noise_replaces_labels_and_nothing_else(
    default: tuple[Any, Any, Path], tmp_path: Path
) -> None:
    _, clean = run_ingest(make_params(num_rows=4500, label_noise=0.0, drift=0.0), tmp_path / "out")
    for noisy, true in zip(default[1], clean, strict=True):
        assert noisy["digest"] == true["digest"]
        assert (noisy["label"] != true["label"]) == noisy["noisy"]


def test_one_text_never_has_two_true_labels() -> None:
    seen: dict[str, str] = {}
    for number in range(20_000):
        drawn = draw_ticket(random.Random(number), 0.3)
        assert seen.setdefault(drawn.text.casefold(), drawn.intent) == drawn.intent


def test_a_bag_of_words_is_beaten_by_the_ceiling_by_far(default: tuple[Any, Any, Path]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    facts, _, out = default
    train = read_split(out, "train", ["text", "label"]).to_pydict()
    test = read_split(out, "test", ["text", "label"]).to_pydict()
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC(C=0.5))
    accuracy = model.fit(train["text"], train["label"]).score(test["text"], test["label"])
    assert 0.80 < accuracy < 0.87 < facts["generated"]["ceiling"]["test"] - 0.05
