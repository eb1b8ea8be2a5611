"""From a candidate's parameters to a Learner; each kind imports only the libraries that it uses."""

from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.errors import TrainingError
from plumbline.contract.records import Learner
from plumbline.tasks.text_classification.models.forms import FormPolicy
from plumbline.tasks.text_classification.models.texts import TrainingTexts, read_training_texts
from plumbline.tasks.text_classification.params import (
    EnsembleConfig,
    LinearConfig,
    ModelConfig,
    ModuleConfig,
    TextParams,
    TransformerConfig,
)

if TYPE_CHECKING:
    from plumbline.tasks.text_classification.models.designs import ModelDesign


def build_learner(params: TextParams, candidate: str, examples: Path) -> Learner:
    """Return the model and batches of `candidate`, ready to train; ingest wrote `examples`."""
    config = params.candidates[candidate]
    texts = read_training_texts(examples, params.data.policies.max_chars)
    if len(texts.classes) < 2:
        raise TrainingError(
            f"candidates.{candidate}: one class in the train split ({texts.classes}); "
            "nothing can be learned"
        )
    policy = FormPolicy(tuple(config.forms), params.evaluation)
    if isinstance(config, EnsembleConfig):
        from plumbline.tasks.text_classification.models.ensemble import assemble_ensemble

        design = _plan_model(config.member, params.seed, texts)
        return assemble_ensemble(design, config.members, params.seed, policy)
    from plumbline.tasks.text_classification.models.designs import assemble_learner

    return assemble_learner(_plan_model(config, params.seed, texts), params.seed, policy)


def _plan_model(config: ModelConfig, seed: int, texts: TrainingTexts) -> "ModelDesign":
    if isinstance(config, LinearConfig):
        from plumbline.tasks.text_classification.models.linear import plan_linear

        return plan_linear(config, seed, texts)
    if isinstance(config, ModuleConfig):
        from plumbline.tasks.text_classification.models.own_module import plan_module

        return plan_module(config, seed, texts)
    from plumbline.tasks.text_classification.models import encoder

    if isinstance(config, TransformerConfig):
        return encoder.plan_transformer(config, seed, texts)
    return encoder.plan_pretrained(config, seed, texts)
