"""What every bundle has: the corpus, and how it is searched."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.params import TRAINED_FORM, Evaluation
from plumbline.process.files import write_json
from tasks.retrieval.data.storage import Corpus
from tasks.retrieval.params import EncoderSettings, LexicalConfig

SETTINGS = "search.json"  # config.json is that of the encoder, as its library reads it
INT8 = "int8"
GRAPHS = {TRAINED_FORM: "model.onnx", INT8: "model.int8.onnx"}
READING = {"query_prefix", "passage_prefix", "pooling", "max_tokens"}  # keys of a candidate


@dataclass(frozen=True)
class SearchSettings:
    """What all candidates share."""

    corpus: Corpus
    max_chars: int  # of a query; what is beyond was not learned from, and not measured
    examples: Path  # that ingest wrote
    evaluation: Evaluation


def describe_search(config: LexicalConfig | EncoderSettings, max_chars: int) -> dict[str, Any]:
    """Return SETTINGS of a candidate; None: not searched by words, or not by vectors.

    The first of `forms` is the one that is served.
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


def write_search(settings: SearchSettings, described: Mapping[str, Any], folder: Path) -> None:
    """Write the corpus, and SETTINGS as `describe_search` returns them."""
    write_json(folder / "corpus.json", {"ids": settings.corpus.ids, "texts": settings.corpus.texts})
    write_json(folder / SETTINGS, described)
