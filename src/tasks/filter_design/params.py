"""The types of params.yaml for the design of filters."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from plumbline.contract.params import (
    Name,
    Params,
    SeededConfig,
    Share,
    StrictModel,
    Validation,
)

Kind = Literal["low-pass", "high-pass", "band-pass"]
Series = Literal["E12", "E24", "E96"]
Positive = Annotated[float, Field(gt=0, le=1e12)]
Count = Annotated[int, Field(ge=1)]
Calls = Annotated[int, Field(ge=1, le=1024)]  # of the simulator, for one design
GENERATED = "generated"


class SpecificationCounts(StrictModel):
    """How many specifications are drawn for each split."""

    train: Count
    validation: Count
    test: Count


class FileShares(StrictModel):
    """Shares of a file's specifications that are held out, by their digest."""

    validation: Annotated[float, Field(gt=0, lt=0.5)]
    test: Annotated[float, Field(gt=0, lt=0.8)]


class DrawRange(StrictModel):
    """A range of numbers, the lower one first."""

    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _check_order(self) -> "DrawRange":
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}; exchange them")
        return self


class GeneratedSpecifications(StrictModel):
    """How specifications are drawn: dB evenly, all else evenly on a logarithmic scale.

    What the predictor refuses is drawn again; see `data.generated`.
    """

    rows: SpecificationCounts
    kinds: Annotated[Mapping[Kind, Positive], Field(min_length=1)]  # relative to each other
    orders: Annotated[list[Literal[3, 5, 7]], Field(min_length=1)]  # of low-pass and high-pass
    open_order: Share  # of low-pass and high-pass rows, that leave the number of parts open
    impossible: Share  # of rows, that no ladder can meet
    slack_db: DrawRange  # what possible ones ask for less than the theorem allows
    excess_db: DrawRange  # what impossible ones ask for beyond it
    max_loss_db: DrawRange
    stop_ratio: DrawRange  # of a stop edge to its pass edge, above 1
    bandwidth: DrawRange  # of a band-pass, relative to its centre
    pass_hz: DrawRange
    z0_ohm: Annotated[list[Annotated[float, Field(ge=1e-3, le=1e6)]], Field(min_length=1)]
    q_inductor: DrawRange
    q_capacitor: DrawRange
    series: Annotated[Mapping[Series, Positive], Field(min_length=1)]  # relative to each other

    @model_validator(mode="after")
    def _check_ratio(self) -> "GeneratedSpecifications":
        if self.stop_ratio.low <= 1:
            raise ValueError(f"stop_ratio.low: {self.stop_ratio.low:g}; it must be above 1")
        return self


class FilterData(StrictModel):
    """Specifications: drawn, or of a CSV or JSONL file."""

    source: str  # a file, glob or URL; or `generated`
    sha256: Mapping[str, str]
    watch: str
    split: FileShares | None  # of a file; null where specifications are generated
    generated: GeneratedSpecifications | None
    search_calls: Calls  # of the textbook search that designs a filter for each train row

    @model_validator(mode="after")
    def _check_source(self) -> "FilterData":
        is_generated = self.source == GENERATED
        if is_generated != (self.generated is not None):
            raise ValueError("generated: is set where source is `generated`, and null elsewhere")
        if is_generated == (self.split is not None):
            raise ValueError("split: is set where source is a file, and null elsewhere")
        if self.split is not None and self.split.validation + self.split.test >= 1:
            raise ValueError("split: validation and test leave nothing to train on")
        return self


class SpecificationChecks(Validation):
    """What specifications must be."""

    max_impossible: Share  # of the rows of a split


class CandidateConfig(StrictModel):
    """What every candidate needs."""

    kind: str
    calls: Calls  # of the simulator, unless a request says how many


class TextbookConfig(CandidateConfig):
    """The textbook's values for several ripples and cutoffs, rounded; nothing is trained."""

    kind: Literal["textbook"]


class LadderNetworkConfig(CandidateConfig, SeededConfig):
    """What every network needs."""

    hidden: Count  # units of each hidden layer
    layers: Count
    batch_size: Count
    steps_per_epoch: Count
    learning_rate: Positive
    max_epochs: Count
    patience: Count
    gradient_clip: Positive


class RegressionConfig(LadderNetworkConfig):
    """One design, learned through the simulator: no design of the train split is needed."""

    kind: Literal["regression"]
    temperature: Positive  # dB; of the soft minimum over the points of the mask


class DiffusionConfig(LadderNetworkConfig):
    """Conditional diffusion on designs that meet their masks."""

    kind: Literal["diffusion"]
    steps: Annotated[int, Field(ge=2, le=200)]  # of a draw (DDIM)
    average: Annotated[float, Field(ge=0, lt=1)]  # of weights, kept from step to step


class GanConfig(LadderNetworkConfig):
    """A conditional generator against a critic, in one optimiser."""

    kind: Literal["gan"]
    noise: Count  # numbers that a draw starts from
    critic_rate: Positive  # learning rate of the critic, relative to the generator's


Candidate = Annotated[
    TextbookConfig | RegressionConfig | DiffusionConfig | GanConfig,
    Field(discriminator="kind"),
]
# These learn nothing from the designs of train, so there are none to shuffle.
UNTAUGHT = (TextbookConfig, RegressionConfig)


class FilterParams(Params):
    """params.yaml with task: filter_design."""

    task: Literal["filter_design"]
    data: FilterData
    validation: SpecificationChecks
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]

    def list_sources(self) -> dict[str, str | None]:
        """Map each address of the source to its pinned SHA-256."""
        if self.data.source == GENERATED:
            return {}
        return {self.data.source: self.data.sha256.get(self.data.source)}

    @model_validator(mode="after")
    def _check_control(self) -> "FilterParams":
        for name in self.control.candidates:
            config = self.candidates.get(name)
            if isinstance(config, UNTAUGHT):
                raise ValueError(  # noqa: TRY004 (a value of params)
                    f"control.candidates: {name} ({config.kind}) learns from no design of train, "
                    "so none can be shuffled; name a candidate of kind diffusion or gan"
                )
        return self


PARAMS = FilterParams
