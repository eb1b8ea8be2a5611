"""Which pretrained encoders work: each supported one from training to its int8 answers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.small_texts import accept_small_splits, small_params, write_examples
from tests.support.tiny_models import NUM_POSITIONS, write_model

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.encoders import weights
from plumbline.encoders.architectures import (
    SUPPORTED,
    check_architecture,
    check_files,
    get_max_tokens,
)
from plumbline.process.files import read_json
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.params import PretrainedConfig, TextParams
from plumbline.tasks.text_classification.predictor import load
from plumbline.tasks.text_classification.scoring.answers import collect_answers
from plumbline.training import fitting

CANDIDATE = "tiny"


@pytest.fixture
def examples(folder: Path) -> Path:
    write_examples(folder / layout.EXAMPLES)
    return folder / layout.EXAMPLES


def make_params(folder: Path, **changes: Any) -> TextParams:
    """Parameters with one candidate that fine-tunes the weights in `folder`."""
    params = small_params()
    settings = params.candidates["transformer"].model_dump(
        exclude={"vocabulary", "hidden", "layers", "heads", "dropout"}
    )
    pinned, sha256 = weights.find_pin(str(folder))
    pretrained = {"kind": "pretrained", "weights": pinned, "sha256": sha256, "lora": None}
    sizes = {"max_tokens": 32, "max_epochs": 1, "batch_size": 16}
    config = PretrainedConfig.model_validate(settings | pretrained | sizes | changes)
    return params.model_copy(update={"candidates": {CANDIDATE: config}})


@pytest.mark.slow
@pytest.mark.parametrize("kind", SUPPORTED)
def test_a_supported_encoder_is_trained_exported_and_answers(
    kind: str, examples: Path, tmp_path: Path
) -> None:
    params = accept_small_splits(make_params(write_model(tmp_path / "weights", kind)))
    learner = build_learner(params, CANDIDATE, examples)
    fitting.fit(learner, params, CANDIDATE)
    (tmp_path / "bundle").mkdir()
    learner.save(tmp_path / "bundle")  # the graph's logits are held against the model's
    differences = compare_export(params, CANDIDATE, tmp_path / "bundle", {})
    assert [each for each in differences if each.largest > each.limit] == []
    texts = read_split(examples, "test")["text"].to_pylist()
    answers = {}
    config = read_json(tmp_path / "bundle/config.json")
    assert config["served"] == "int8"
    for form in ("fp32", "int8"):
        predictor = load(tmp_path / "bundle", form)
        answers[form] = collect_answers(predictor, texts, 99).probabilities
        alone = np.concatenate(
            [collect_answers(predictor, [text], 99).probabilities for text in texts[:8]]
        )
        np.testing.assert_allclose(alone, answers[form][:8], atol=1e-6)
    np.testing.assert_allclose(answers["int8"], answers["fp32"], atol=0.1)


@pytest.mark.parametrize("kind", SUPPORTED)
def test_word_vectors_do_not_decay_whatever_their_name(
    kind: str, examples: Path, tmp_path: Path
) -> None:
    learner = build_learner(make_params(write_model(tmp_path, kind)), CANDIDATE, examples)
    groups = learner.module.configure_optimizers()[0].param_groups
    vectors = learner.module.model.body.get_input_embeddings().weight
    (decay,) = [
        group["weight_decay"] for group in groups for one in group["params"] if one is vectors
    ]
    assert decay == 0
    assert any(group["weight_decay"] > 0 for group in groups)


@pytest.mark.parametrize("kind", SUPPORTED)
def test_halves_of_a_batch_share_no_generator(kind: str, examples: Path, tmp_path: Path) -> None:
    import torch

    learner = build_learner(make_params(write_model(tmp_path, kind)), CANDIDATE, examples)
    learner.module.train()
    states = []
    for num_rows in (1, 16):
        torch.manual_seed(0)
        learner.module.training_step(learner.data.train.__getitems__(list(range(num_rows))))
        states.append(torch.get_rng_state())
    assert torch.equal(*states)  # what is drawn for each row was drawn from another


def test_frozen_layers_and_embeddings_are_not_updated(examples: Path, tmp_path: Path) -> None:
    folder = write_model(tmp_path, "bert")
    learner = build_learner(make_params(folder, frozen_layers=1), CANDIDATE, examples)
    body = learner.module.model.body
    updated = {name for name, weight in body.named_parameters() if weight.requires_grad}
    kept = {name for name, _ in body.named_parameters() if name.startswith("encoder.layer.1.")}
    assert updated == kept != set()
    with pytest.raises(ParamsError, match="frozen_layers: 2, but the encoder has 2"):
        build_learner(make_params(folder, frozen_layers=2), CANDIDATE, examples)


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "mpnet", "bert"])
def test_max_tokens_may_be_what_the_positions_hold_and_no_more(
    kind: str, examples: Path, tmp_path: Path
) -> None:
    import torch

    offset = 0 if kind == "bert" else 2
    folder = write_model(tmp_path, kind, max_position_embeddings=NUM_POSITIONS + offset)
    encoder = weights.load_encoder(kind, folder)
    assert get_max_tokens(encoder) == NUM_POSITIONS
    ids = torch.full((1, NUM_POSITIONS), 5)
    encoder(input_ids=ids, attention_mask=torch.ones_like(ids))
    with pytest.raises(ParamsError, match=rf"max_tokens: {NUM_POSITIONS + 1}, but .* at most"):
        build_learner(make_params(folder, max_tokens=NUM_POSITIONS + 1), CANDIDATE, examples)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "t5"}, "'t5' cannot be fine-tuned: no test shows .* these can: albert"),
        ({"model_type": "new", "auto_map": {}}, "code is part of the checkpoint"),
        ({}, "model_type None cannot"),
    ],
)
def test_what_cannot_work_is_refused_before_it_is_loaded(
    config: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ParamsError, match=reason):
        check_architecture("./folder", tmp_path)


def test_what_is_missing_in_a_checkpoint_is_explained() -> None:
    names = {"pytorch_model.bin", "spm.model", "config.json"}
    missing = "no tokenizer.json and no model.safetensors: .*from_pretrained.'org/name'"
    with pytest.raises(TrainingError, match=missing):
        check_files("hf://org/name@1", names, weights.PATTERNS)


def test_a_checkpoint_without_some_weights_is_refused(examples: Path, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "weights", "bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(TrainingError, match=r"16 tensors .* not in the checkpoint \(encoder\.lay"):
        build_learner(make_params(folder), CANDIDATE, examples)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("distilbert-base-uncased", "plumbline pin hf://distilbert-base-uncased`, for a folder"),
        ("org/name", r"plumbline pin hf://org/name`, for a folder write \./org/name"),
        ("hf://org/name", "no revision; `plumbline pin hf://org/name` writes it"),
    ],
)
def test_a_name_that_is_no_address_is_refused_with_the_command_to_run(
    name: str, advice: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=advice):
        make_params(write_model(tmp_path, "bert"), weights=name)
