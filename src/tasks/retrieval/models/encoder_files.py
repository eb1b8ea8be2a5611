"""What a bundle keeps of an encoder; and whether it follows from the weights."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from plumbline.contract.errors import TrainingError
from plumbline.contract.params import INT8, TRAINED_FORM
from plumbline.contract.records import ExportDifference
from plumbline.encoders.architectures import describe_architecture, rebuild_body
from plumbline.encoders.graphs import compare_graphs, derive_int8, export_graph, write_int8_form
from plumbline.encoders.layers import use_cheap_layers, use_full_embedding
from plumbline.encoders.tokenizer import INPUT_NAMES
from plumbline.process.files import read_json, write_json
from plumbline.statistics import parity
from tasks.retrieval.data.storage import read_corpus, read_queries
from tasks.retrieval.models.bundles import GRAPHS, describe_search, write_search
from tasks.retrieval.models.encoding import (
    SentenceEncoder,
    TorchEncoder,
    load_tokenizer,
    pad_tokens,
)
from tasks.retrieval.params import EncoderSettings, RetrievalParams
from tasks.retrieval.predictor import GraphEncoder, load
from tasks.retrieval.ranking import rank_queries

GRAPH = GRAPHS[TRAINED_FORM]
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
VECTORS = "vectors.safetensors"
NUM_TRIED = 64  # passages that the model and its graph encode
TOLERANCE = 1e-4  # of the numbers of a unit vector
NUM_AGAIN = 200  # passages that are encoded again
ROUNDING = 2e-3  # of the numbers of a unit vector, kept in 16 bits
TRACED = ["a short text", "a text of some more words than the other"]


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
    vectors = encoder.encode(corpus.texts, passages=True)
    tried = corpus.texts[:NUM_TRIED]
    expected = TorchEncoder(config, model).encode(tried, passages=True)
    difference = float(np.abs(vectors[:NUM_TRIED] - expected).max())
    if not difference <= TOLERANCE:  # NaN is caught too
        raise TrainingError(
            f"{GRAPH}: its vectors differ from the model's by {difference:.2g}; nothing was saved"
        )
    save_arrays({"vectors": vectors.astype(np.float16)}, folder / VECTORS)
    if config.int8 and is_parity_shown(folder, read_queries(examples, "validation"), params):
        described["forms"].reverse()
        write_search(corpus, described, folder)


def save_tokenizer(config: EncoderSettings, folder: Path) -> Tokenizer:
    """Write the tokenizer of the encoder so that transformers reads it as it is; return it."""
    tokenizer = load_tokenizer(config)
    tokenizer.save(str(folder / TOKENIZER))
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": INPUT_NAMES,
        "model_max_length": config.max_tokens,
        "pad_token": tokenizer.id_to_token(0),
    }
    write_json(folder / "tokenizer_config.json", described)
    return tokenizer


def derive_graph(model: SentenceEncoder, tokenizer: Tokenizer) -> Any:
    """Return the graph of `model`, an onnx.ModelProto; equal weights give an equal graph."""
    rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(TRACED)]
    return export_graph(model, pad_tokens(rows), "vector")


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


def compare_encoder(
    config: EncoderSettings, folder: Path, described: dict[str, Any], texts: list[str]
) -> list[ExportDifference]:
    """Derive the graphs from the weights, and vectors of some `texts` from the graph."""
    body = rebuild_body(read_json(folder / CONFIG))
    use_cheap_layers(body)
    body.load_state_dict(load_file(folder / WEIGHTS))
    model = SentenceEncoder(body, config.pooling)
    derived = derive_graph(model.eval(), Tokenizer.from_file(str(folder / TOKENIZER)))
    graph = onnx.load(folder / GRAPH)
    vectors = load_arrays(folder / VECTORS)["vectors"].astype(np.float32)
    tried = np.random.default_rng(len(texts)).permutation(len(texts))[:NUM_AGAIN]
    encoder = GraphEncoder(folder, described, TRAINED_FORM)
    again = encoder.encode([texts[place] for place in tried], passages=True)
    distance = float(np.abs(again - vectors[tried]).max())
    compared = []
    if config.int8:
        int8 = onnx.load(folder / GRAPHS[INT8])
        compared.append(compare_graphs(INT8, int8, derive_int8(graph)))
    return [
        *compared,
        compare_graphs(TRAINED_FORM, graph, derived),
        ExportDifference("the vectors of passages", distance, ROUNDING, len(tried)),
    ]
