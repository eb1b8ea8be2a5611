"""Do the graph and the vectors of a bundle follow from its weights? They are derived again."""

from pathlib import Path

import numpy as np

from plumbline.contract import layout
from plumbline.contract.params import INT8, TRAINED_FORM
from plumbline.contract.records import ExportDifference
from plumbline.contract.task import Columns
from plumbline.process.files import read_json
from tasks.retrieval.data.storage import read_corpus
from tasks.retrieval.models.bundles import GRAPHS, SETTINGS, describe_search
from tasks.retrieval.params import EncoderSettings, RetrievalParams

ROUNDING = 2e-3  # of the numbers of a unit vector, kept in 16 bits
NUM_TRIED = 200  # passages that are encoded again


def compare_export(
    params: RetrievalParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Derive the graph from the weights, and vectors of passages from the graph.

    What is searched has to be the corpus of the data, and how it is, what params say.
    """
    kept = read_json(folder / "corpus.json")
    corpus, config = read_corpus(layout.EXAMPLES), params.candidates[candidate]
    is_other = (kept["ids"], kept["texts"]) != (corpus.ids, corpus.texts)
    compared = [ExportDifference("the corpus", float(is_other), 0.0, len(corpus.ids))]
    found = read_json(folder / SETTINGS)
    expected = describe_search(config, params.data.max_chars)
    for settings in (found, expected):
        settings["forms"].sort()  # validation says which is served
    compared.append(ExportDifference("how it searches", float(found != expected), 0.0, 0))
    if not isinstance(config, EncoderSettings):
        return compared
    import onnx
    from safetensors.numpy import load_file as load_arrays
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    from plumbline.encoders.architectures import rebuild_body
    from plumbline.encoders.graphs import compare_graphs, derive_int8
    from plumbline.encoders.layers import use_cheap_layers
    from tasks.retrieval.models.encoding import (
        CONFIG,
        GRAPH,
        VECTORS,
        WEIGHTS,
        SentenceEncoder,
        derive_graph,
    )
    from tasks.retrieval.predictor import GraphEncoder

    body = rebuild_body(read_json(folder / CONFIG))
    use_cheap_layers(body)
    body.load_state_dict(load_file(folder / WEIGHTS))
    model = SentenceEncoder(body, config.pooling)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    derived = derive_graph(model.eval(), tokenizer)
    graph = onnx.load(folder / GRAPH)
    texts = kept["texts"]
    vectors = load_arrays(folder / VECTORS)["vectors"].astype(np.float32)
    tried = np.random.default_rng(len(texts)).permutation(len(texts))[:NUM_TRIED]
    encoder = GraphEncoder(folder, expected["encoder"], TRAINED_FORM)
    again = encoder.encode_passages([texts[place] for place in tried])
    distance = float(np.abs(again - vectors[tried]).max())
    if config.int8:
        int8 = onnx.load(folder / GRAPHS[INT8])
        compared.append(compare_graphs(INT8, int8, derive_int8(graph)))
    return [
        *compared,
        compare_graphs(TRAINED_FORM, graph, derived),
        ExportDifference("the vectors of passages", distance, ROUNDING, len(tried)),
    ]
