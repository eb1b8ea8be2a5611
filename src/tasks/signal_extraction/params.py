"""The types of params.yaml for signal extraction."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from plumbline.contract.params import Name, Params, SeededConfig, StrictModel, Validation
from plumbline.contract.search import TunableConfig

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
# For the floor: positions at which a window may start, and these times its samples.
MAX_POSITIONS = 10_000
MAX_CELLS = 2_000_000


class Range(StrictModel):
    """A uniform distribution."""

    low: float
    high: float

    @model_validator(mode="after")
    def _check_order(self) -> "Range":
        if not 0 < self.low <= self.high:
            raise ValueError(f"expected 0 < low <= high, found {self.low} and {self.high}")
        return self


class RealisationCounts(StrictModel):
    """How many realisations each split has."""

    train: Count
    validation: Count
    test: Count


class NoisyMixture(StrictModel):
    """Many realisations with their own offset, amplitudes and phases; each is one window."""

    watch: str  # the file or folder that DVC compares; the data are generated, so it may be empty
    sample_rate_hz: Annotated[int, Field(ge=2, le=1_000_000)]
    amplitude: Range
    phase_scale: Annotated[float, Field(ge=0, le=1)]  # phases are uniform from 0 to 2 pi times this
    # Samples that a predictor may look back on; fewer than 3 show no frequency.
    window: Annotated[int, Field(ge=3, le=100_000)]
    frequencies_hz: Annotated[list[Positive], Field(min_length=1)]
    max_offset_s: Positive  # a realisation starts at a random sample before this
    noise: Positive  # standard deviation of what is added to every sample of the mixture
    realisations: RealisationCounts


class SignalLimits(Validation):
    """What windows must be."""

    max_abs_signal: Positive


class FirConfig(TunableConfig):
    """Ridge regression on the last samples, one for each number of samples so far: closed form."""

    kind: Literal["fir"]
    taps: Count
    ridge: Positive  # added to the diagonal of the mean outer product of the samples


class RecurrentConfig(TunableConfig, SeededConfig):
    """What every LSTM needs (Hochreiter and Schmidhuber 1997)."""

    kind: str
    hidden: Count
    layers: Count
    fresh: bool  # draw new realisations in every epoch, instead of windows of the train split
    windows_per_epoch: Count
    batch_size: Count  # windows; each is asked for every frequency
    learning_rate: Positive  # at its highest
    warmup: Annotated[float, Field(ge=0, lt=1)]  # share of steps in which the learning rate rises
    max_epochs: Count
    patience: Count
    gradient_clip: Positive


class StatefulConfig(RecurrentConfig):
    """Takes sample and one-hot frequency; truncated backpropagation, the state carried over."""

    kind: Literal["stateful"]
    chunk: Count


class FilmConfig(RecurrentConfig):
    """An LSTM on the samples alone; the frequency scales and shifts its units.

    Perez et al. 2018, arXiv:1709.07871.
    """

    kind: Literal["film"]


Candidate = Annotated[FirConfig | StatefulConfig | FilmConfig, Field(discriminator="kind")]


class SignalParams(Params):
    """params.yaml with task: signal_extraction."""

    task: Literal["signal_extraction"]
    data: NoisyMixture
    validation: SignalLimits
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_frequencies(self) -> "SignalParams":
        frequencies = self.data.frequencies_hz
        nyquist = self.data.sample_rate_hz / 2
        if len({f"{frequency:g}" for frequency in frequencies}) < len(frequencies):
            raise ValueError(
                "data.frequencies_hz: one is given twice, or two are equal in their first "
                "six digits"
            )
        too_high = [frequency for frequency in frequencies if frequency >= nyquist]
        if too_high:
            raise ValueError(
                f"data.frequencies_hz: {too_high[0]} Hz is not below half of sample_rate_hz "
                f"({nyquist:g})"
            )
        return self

    @model_validator(mode="after")
    def _check_floor_size(self) -> "SignalParams":
        data = self.data
        positions = round(data.max_offset_s * data.sample_rate_hz)
        if positions > MAX_POSITIONS or positions * data.window > MAX_CELLS:
            raise ValueError(
                f"data: a window of {data.window} samples may start at {positions:,} places; the "
                f"floor is computed for up to {MAX_POSITIONS:,}, and {MAX_CELLS:,} places times "
                "samples: lower sample_rate_hz, window or max_offset_s"
            )
        return self

    @model_validator(mode="after")
    def _check_training(self) -> "SignalParams":
        if self.training.precision != "fp32":
            raise ValueError(
                f"training.precision: {self.training.precision}; a state adds up rounding errors: "
                "use fp32 here"
            )
        for name in self.control.candidates:
            config = self.candidates.get(name)
            if isinstance(config, RecurrentConfig) and config.fresh:
                raise ValueError(
                    f"control.candidates: {name} draws fresh windows, and would not see the "
                    "shuffled ones; name another"
                )
        return self

    @model_validator(mode="after")
    def _check_lengths(self) -> "SignalParams":
        window = self.data.window
        for name, config in self.candidates.items():
            if isinstance(config, StatefulConfig) and window % config.chunk:
                raise ValueError(
                    f"candidates.{name}.chunk: {config.chunk} samples do not divide data.window "
                    f"({window})"
                )
            if isinstance(config, FirConfig) and config.taps > window:
                raise ValueError(
                    f"candidates.{name}.taps: {config.taps}, but data.window has only {window} "
                    "samples"
                )
        return self


PARAMS = SignalParams
