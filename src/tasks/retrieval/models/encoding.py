"""An encoder that turns a text into a vector of length 1, and what a bundle keeps of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.params import INT8, TRAINED_FORM
from plumbline.encoders.architectures import describe_architecture, get_max_tokens
from plumbline.encoders.graphs import export_graph, write_int8_form
from plumbline.encoders.layers import pool_by_mean, use_cheap_layers, use_full_embedding
from plumbline.encoders.tokenizer import INPUT_NAMES, read_tokenizer
from plumbline.encoders.weights import find_weights, load_encoder
from plumbline.process.files import write_json
from plumbline.statistics import parity
from tasks.retrieval.data.storage import read_corpus, read_queries
from tasks.retrieval.models.bundles import GRAPHS, describe_search, write_search
from tasks.retrieval.params import EncoderSettings, RetrievalParams
from tasks.retrieval.predictor import GraphEncoder, load
from tasks.retrieval.ranking import rank_queries

GRAPH = GRAPHS[TRAINED_FORM]
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
VECTORS = "vectors.safetensors"
BATCH = 32
NUM_TRIED = 64  # passages that the model and its graph encode
TOLERANCE = 1e-4  # of the numbers of a unit vector
TRACED = ["a short text", "a text of some more words than the other"]


class SentenceEncoder(torch.nn.Module):
    """An encoder, and the mean over a text's tokens (or its first token), of length 1."""

    def __init__(self, body: Any, pooling: str) -> None:
        super().__init__()
        self.body = body
        self._pooling = pooling

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return vectors (rows, width) from ids and mask (rows, tokens)."""
        states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        pooled = states[:, 0]
        if self._pooling == "mean":
            pooled = pool_by_mean(states, attention_mask)
            if torch.compiler.is_exporting():
                # The sum, of the same direction: as a product it has the same bits in any company.
                pooled = (attention_mask[:, None].float() @ states)[:, 0]
        return functional.normalize(pooled.float(), dim=1)


class TorchEncoder:
    """Encodes texts with the torch model, some of similar length at a time."""

    def __init__(self, config: EncoderSettings, model: SentenceEncoder) -> None:
        self._model = model.eval()
        self._tokenizer = load_tokenizer(config)
        self._prefixes = config.query_prefix, config.passage_prefix

    def encode_queries(self, queries: Sequence[str]) -> np.ndarray:
        """Return the vectors of queries (queries, width)."""
        return self._encode([self._prefixes[0] + text for text in queries])

    def encode_passages(self, passages: Sequence[str]) -> np.ndarray:
        """Return the vectors of passages (passages, width)."""
        return self._encode([self._prefixes[1] + text for text in passages])

    @torch.inference_mode()
    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        vectors = np.empty((len(rows), self._model.body.config.hidden_size), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            padded = pad_tokens([rows[row] for row in batch])
            vectors[batch] = self._model(**padded).numpy()
        return vectors


def load_model(config: EncoderSettings) -> SentenceEncoder:
    """Load the pretrained encoder; ParamsError where it cannot read `max_tokens`."""
    body = load_encoder(config.weights, find_weights(config.weights, config.sha256))
    limit = get_max_tokens(body)
    if limit is not None and config.max_tokens > limit:
        raise ParamsError(
            f"max_tokens: {config.max_tokens}, but {config.weights} reads at most {limit}"
        )
    use_cheap_layers(body)
    return SentenceEncoder(body, config.pooling)


def load_tokenizer(config: EncoderSettings) -> Tokenizer:
    """Load the tokenizer of the encoder, which cuts texts at `max_tokens`."""
    folder = find_weights(config.weights, None)
    return read_tokenizer(folder / "tokenizer.json", config.max_tokens)


def save_tokenizer(config: EncoderSettings, folder: Path) -> Tokenizer:
    """Write the tokenizer of the encoder so that transformers reads it as it is; return it."""
    tokenizer = load_tokenizer(config)
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": INPUT_NAMES,
        "model_max_length": config.max_tokens,
        "pad_token": tokenizer.id_to_token(0),
    }
    write_json(folder / "tokenizer_config.json", described)
    return tokenizer


def pad_tokens(rows: Sequence[Sequence[int]], prefix: str = "") -> dict[str, torch.Tensor]:
    """Return ids and mask (rows, tokens of the longest) by the names that the model has for them.

    `prefix` is put before the names.
    """
    texts = list(map(torch.tensor, rows))
    ids = pad_sequence(texts, batch_first=True)
    mask = pad_sequence(list(map(torch.ones_like, texts)), batch_first=True)
    return dict(zip([prefix + name for name in INPUT_NAMES], (ids, mask), strict=True))


def save_encoder(
    config: EncoderSettings,
    model: SentenceEncoder,
    params: RetrievalParams,
    examples: Path,
    folder: Path,
) -> None:
    """Write the encoder, its graph, the tokenizer and the vectors of the corpus.

    WEIGHTS and CONFIG are as on a hub: transformers and sentence-transformers load the folder.
    TrainingError if the graph does not give the vectors of the model.
    """
    model = model.float().cpu().eval()
    use_full_embedding(model.body)
    weights = {name: tensor.contiguous() for name, tensor in model.body.state_dict().items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    write_json(folder / CONFIG, describe_architecture(model.body))
    tokenizer = save_tokenizer(config, folder)
    graph = derive_graph(model, tokenizer)
    (folder / GRAPH).write_bytes(graph.SerializeToString(deterministic=True))
    if config.int8:
        write_int8_form(graph, folder / GRAPHS[INT8])
    corpus = read_corpus(examples)
    described = describe_search(config, params.data.max_chars)
    write_search(corpus, described, folder)
    encoder = GraphEncoder(folder, described["encoder"], TRAINED_FORM)
    vectors = encoder.encode_passages(corpus.texts)
    tried = corpus.texts[:NUM_TRIED]
    expected = TorchEncoder(config, model).encode_passages(tried)
    difference = float(np.abs(vectors[:NUM_TRIED] - expected).max())
    if not difference <= TOLERANCE:  # NaN is caught too
        raise TrainingError(
            f"{GRAPH}: its vectors differ from the model's by {difference:.2g}; nothing was saved"
        )
    save_arrays({"vectors": vectors.astype(np.float16)}, folder / VECTORS)
    if config.int8 and is_parity_shown(folder, read_queries(examples, "validation"), params):
        described["forms"].reverse()
        write_search(corpus, described, folder)


def is_parity_shown(folder: Path, queries: Any, params: RetrievalParams) -> bool:
    """Whether INT8 is shown to rank what validation queries find as TRAINED_FORM does."""
    searches: list[Any] = [load(folder, form) for form in (INT8, TRAINED_FORM)]
    ours, theirs = (rank_queries(queries, each) for each in searches)
    confidence, limits = params.evaluation.confidence, params.evaluation.parity
    agrees = np.array(ours[0]["id"]) == np.array(theirs[0]["id"])
    found = parity.measure_parity(ours[2], theirs[2], agrees, "continuous", confidence)
    is_shown = parity.is_shown(found, limits, confidence)
    said = "is served" if is_shown else "is not served, parity is not shown"
    print(  # noqa: T201 (the stage's result)
        f"train: int8 {said}: {found.agreement:.1%} of {found.num_rows} validation queries have "
        f"the first answer of {TRAINED_FORM}, nDCG@10 {found.gain:+.4f}",
        flush=True,
    )
    return is_shown


def derive_graph(model: SentenceEncoder, tokenizer: Tokenizer) -> Any:
    """Return the graph of `model`, an onnx.ModelProto; equal weights give an equal graph."""
    rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(TRACED)]
    return export_graph(model, pad_tokens(rows), "vector")
