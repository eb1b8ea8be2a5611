"""From a candidate's parameters to a Learner; each kind imports only the libraries that it uses."""

from functools import partial
from pathlib import Path

from plumbline.contract.records import Learner
from tasks.retrieval.data.storage import read_corpus
from tasks.retrieval.models.bundles import describe_search, write_search
from tasks.retrieval.params import EncoderSettings, LexicalConfig, RetrievalParams, TunedConfig


def build_learner(params: RetrievalParams, candidate: str, examples: Path) -> Learner:
    """Return the model and batches of `candidate`, ready to train; ingest wrote `examples`."""
    config = params.candidates[candidate]
    if isinstance(config, TunedConfig):
        from tasks.retrieval.models.tuning import build_tuned_learner  # imports torch

        return build_tuned_learner(config, params, examples)
    if isinstance(config, EncoderSettings):
        from tasks.retrieval.models.encoder_files import save_encoder
        from tasks.retrieval.models.encoding import load_model

        model = load_model(config)
        save = partial(save_encoder, config, model, params, examples)
        return Learner(save=save, solve=_learn_nothing)
    if isinstance(config, LexicalConfig):
        described = describe_search(config, params.data.max_chars)
        save = partial(write_search, read_corpus(examples), described)
        return Learner(save=save, solve=_learn_nothing)
    raise TypeError(candidate)


def _learn_nothing() -> None:
    """Words are counted when a bundle is opened, and an encoder as it comes is as it comes."""
