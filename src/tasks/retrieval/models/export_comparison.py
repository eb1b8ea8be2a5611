"""Do the graph and the vectors of a bundle follow from its weights? They are derived again."""

from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.records import ExportDifference
from plumbline.contract.task import Columns
from plumbline.process.files import read_json
from tasks.retrieval.data.storage import read_corpus
from tasks.retrieval.models.bundles import SETTINGS, describe_search
from tasks.retrieval.params import EncoderSettings, RetrievalParams


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
    if isinstance(config, EncoderSettings):
        from tasks.retrieval.models.encoder_files import compare_encoder  # imports torch

        compared += compare_encoder(config, folder, expected["encoder"], kept["texts"])
    return compared
