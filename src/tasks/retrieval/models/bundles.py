"""What every bundle has: the corpus, and how it is searched."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.params import TRAINED_FORM, Evaluation
from plumbline.process.files import write_json
from tasks.retrieval.data.storage import Corpus

SETTINGS = "search.json"  # config.json is that of the encoder, as its library reads it


@dataclass(frozen=True)
class SearchSettings:
    """What all candidates share."""

    corpus: Corpus
    max_chars: int  # of a query; what is beyond was not learned from, and not measured
    examples: Path  # that ingest wrote
    evaluation: Evaluation


def write_search(
    settings: SearchSettings,
    folder: Path,
    *,
    words: Mapping[str, float] | None = None,
    encoder: Mapping[str, Any] | None = None,
) -> None:
    """Write the corpus and SETTINGS; None: not searched by words, or not by vectors.

    The first of the encoder's `graphs` is the form that is served.
    """
    write_json(folder / "corpus.json", {"ids": settings.corpus.ids, "texts": settings.corpus.texts})
    config = {
        "forms": list((encoder or {}).get("graphs", [TRAINED_FORM])),
        "max_chars": settings.max_chars,
        "words": words,
        "encoder": encoder,
    }
    write_json(folder / SETTINGS, config)
