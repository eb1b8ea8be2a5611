"""What every bundle has: the corpus, and how it is searched."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.contract.params import INT8, TRAINED_FORM
from plumbline.process.files import write_json
from tasks.retrieval.data.storage import Corpus
from tasks.retrieval.params import EncoderSettings, LexicalConfig

SETTINGS = "search.json"  # config.json is that of the encoder, as its library reads it
GRAPHS = {TRAINED_FORM: "model.onnx", INT8: "model.int8.onnx"}
READING = {"query_prefix", "passage_prefix", "pooling", "max_tokens"}  # keys of a candidate


def describe_search(config: LexicalConfig | EncoderSettings, max_chars: int) -> dict[str, Any]:
    """Return SETTINGS of a candidate; None: not searched by words, or not by vectors.

    The first of `forms` is served. Of a query no more than `max_chars` are read, as in training.
    """
    described: dict[str, Any] = {"forms": [TRAINED_FORM], "max_chars": max_chars}
    described |= {"words": None, "encoder": None}
    lexical = config
    if isinstance(config, EncoderSettings):
        if config.int8:
            described["forms"].append(INT8)
        graphs = {form: GRAPHS[form] for form in described["forms"]}
        described["encoder"] = {"graphs": graphs, **config.model_dump(include=READING)}
        lexical = LexicalConfig(kind="bm25")
    if isinstance(config, LexicalConfig) or config.fusion:
        described["words"] = lexical.model_dump(include={"k1", "b"})
    return described


def write_search(corpus: Corpus, described: Mapping[str, Any], folder: Path) -> None:
    """Write the corpus, and SETTINGS as `describe_search` returns them."""
    write_json(folder / "corpus.json", vars(corpus))
    write_json(folder / SETTINGS, described)
