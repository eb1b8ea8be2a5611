"""The shape of params.yaml for signal extraction."""

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from plumbline.contract.params import Name, Params, StrictModel

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Dropout = Annotated[float, Field(ge=0, lt=1)]
MAX_POSITIONS, MAX_CELLS = (
    10_000,
    2_000_000,
)  # at which a window may begin, and these times its samples: for the floor


def apart(window: int, sample_rate_hz: int) -> int:
    """The least stride at which windows do not overlap, and begin at every phase of a second."""
    return next(
        stride for stride in itertools.count(window) if math.gcd(stride, sample_rate_hz) == 1
    )


class Range(StrictModel):
    """A uniform distribution."""

    low: float
    high: float

    @model_validator(mode="after")
    def _is_a_range(self) -> "Range":
        if not 0 < self.low <= self.high:
            raise ValueError(f"expected 0 < low <= high, found {self.low} and {self.high}")
        return self


class Mixture(StrictModel):
    """What both kinds of data have in common: a mean of sinusoids, seen through windows of `window` samples."""

    watch: str  # the file or folder that DVC compares; the data are generated, so it may be empty
    sample_rate_hz: Annotated[int, Field(ge=2, le=1_000_000)]
    amplitude: Range
    phase_scale: Annotated[float, Field(ge=0, le=1)]  # phases are uniform from 0 to 2 pi times this
    window: Annotated[int, Field(ge=1, le=100_000)]  # samples that a predictor may look back on


class Course(Mixture):
    """The published setting: amplitude and phase are drawn anew for every sample, a realisation for each seed."""

    kind: Literal["course"]
    frequencies_hz: Annotated[list[Count], Field(min_length=1)]
    num_samples: Count
    seeds: Mapping[
        Literal["train", "validation", "test"], list[Annotated[int, Field(ge=0, lt=2**32)]]
    ]
    stride: Count  # from one held-out window to the next; windows of train begin at every sample

    @model_validator(mode="after")
    def _windows_are_apart_and_meet_every_phase(self) -> "Course":
        if self.num_samples < (least := self.sample_rate_hz + self.window - 1):
            raise ValueError(
                f"num_samples: {self.num_samples}; the floor takes windows of {self.window} samples to begin anywhere "
                f"in a second, for which there have to be {least}"
            )
        if self.stride < self.window:
            raise ValueError(
                f"stride: {self.stride}; held-out windows of {self.window} samples would overlap"
            )
        if math.gcd(self.stride, self.sample_rate_hz) > 1:
            raise ValueError(
                f"stride: {self.stride} shares a factor with sample_rate_hz ({self.sample_rate_hz}), so that held-out "
                f"windows would begin at few of its phases; try {apart(self.stride, self.sample_rate_hz)}"
            )
        if missing := {"train", "validation", "test"} - {
            split for split, seeds in self.seeds.items() if seeds
        }:
            raise ValueError(f"seeds: none for {', '.join(sorted(missing))}")
        every = [seed for seeds in self.seeds.values() for seed in seeds]
        if twice := [seed for seed in every if every.count(seed) > 1]:
            raise ValueError(
                f"seeds: {twice[0]} stands twice, and would give the same realisation twice"
            )
        return self


class Realisations(StrictModel):
    """How many realisations each split has."""

    train: Count
    validation: Count
    test: Count


class Honest(Mixture):
    """Many realisations, each with an offset, amplitudes and phases of its own; each is one window of one split."""

    kind: Literal["honest"]
    frequencies_hz: Annotated[list[Positive], Field(min_length=1)]
    max_offset_s: Positive  # a realisation begins at a random sample before this
    noise: Positive  # standard deviation of what is added to every sample of the mixture
    realisations: Realisations

    @model_validator(mode="after")
    def _a_frequency_can_be_seen(self) -> "Honest":
        if self.window < 3:
            raise ValueError(
                f"window: {self.window} samples of a realisation show no frequency; at least 3 do"
            )
        return self


class Validation(StrictModel):
    """What realisations must be."""

    max_abs_signal: Positive
    max_peak_error_hz: (
        Positive  # between a component's spectral peak and the frequency that names it
    )
    min_rows: Count  # of each split


class Fir(StrictModel):
    """Ridge regression on the last samples, one for each number of samples that are there: solved in closed form."""

    kind: Literal["fir"]
    taps: Count
    ridge: Positive  # added to the diagonal of the mean outer product of the samples


class Recurrent(StrictModel):
    """What every LSTM needs (Hochreiter and Schmidhuber 1997)."""

    kind: str
    hidden: Count
    layers: Count
    dropout: Dropout  # between layers
    fresh: bool  # draw new realisations from the generator in every epoch, instead of windows of the train split
    windows_per_epoch: Count
    batch_size: Count  # windows; each is asked for every frequency
    learning_rate: Positive  # at its highest
    warmup: Annotated[
        float, Field(ge=0, lt=1)
    ]  # share of all steps in which the learning rate rises
    max_epochs: Count
    patience: Count
    gradient_clip: Positive

    @model_validator(mode="after")
    def _dropout_has_a_place(self) -> "Recurrent":
        if self.dropout and self.layers == 1:
            raise ValueError("dropout: acts between layers, and there is one")
        return self


class Window(Recurrent):
    """An LSTM on the samples alone, with an output for each frequency; trained on whole windows."""

    kind: Literal["window"]


class Stateful(Recurrent):
    """Sample and one-hot frequency in; trained by truncated backpropagation: chunk by chunk, the state carried on."""

    kind: Literal["stateful"]
    chunk: Count


class Film(Recurrent):
    """An LSTM on the samples alone; the frequency scales and shifts its units (Perez et al. 2018, arXiv:1709.07871)."""

    kind: Literal["film"]


Candidate = Annotated[Fir | Window | Stateful | Film, Field(discriminator="kind")]


class SignalParams(Params):
    """params.yaml with task: signal_extraction."""

    task: Literal["signal_extraction"]
    data: Annotated[Course | Honest, Field(discriminator="kind")]
    validation: Validation
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]

    @model_validator(mode="after")
    def _frequencies_can_be_told(self) -> "SignalParams":
        found, nyquist = self.data.frequencies_hz, self.data.sample_rate_hz / 2
        if len({f"{frequency:g}" for frequency in found}) < len(found):
            raise ValueError(
                "data.frequencies_hz: one stands twice, or two differ by less than six digits tell"
            )
        if high := [frequency for frequency in found if frequency >= nyquist]:
            raise ValueError(
                f"data.frequencies_hz: {high[0]} Hz is not below half of sample_rate_hz ({nyquist:g})"
            )
        return self

    @model_validator(mode="after")
    def _the_floor_can_be_computed(self) -> "SignalParams":
        data = self.data
        seconds = data.max_offset_s if isinstance(data, Honest) else 1.0
        positions = round(seconds * data.sample_rate_hz)
        if positions > MAX_POSITIONS or positions * data.window > MAX_CELLS:
            raise ValueError(
                f"data: a window of {data.window} samples may begin at {positions:,} places; the floor is computed for "
                f"up to {MAX_POSITIONS:,}, and {MAX_CELLS:,} places times samples: lower sample_rate_hz, window or "
                "max_offset_s"
            )
        return self

    @model_validator(mode="after")
    def _training_is_what_it_says(self) -> "SignalParams":
        if self.training.precision != "fp32":
            raise ValueError(
                f"training.precision: {self.training.precision}; a state adds up rounding: fp32 here"
            )
        for name in self.control.candidates:
            shape = self.candidates.get(name)
            if isinstance(shape, Recurrent) and shape.fresh:
                raise ValueError(
                    f"control.candidates: {name} draws fresh windows, and would not see the shuffled ones; name another"
                )
        return self

    @model_validator(mode="after")
    def _chunks_fill_a_window(self) -> "SignalParams":
        for name, shape in self.candidates.items():
            if isinstance(shape, Stateful) and self.data.window % shape.chunk:
                raise ValueError(
                    f"candidates.{name}.chunk: {shape.chunk} samples do not divide data.window ({self.data.window})"
                )
            if isinstance(shape, Fir) and shape.taps > self.data.window:
                raise ValueError(
                    f"candidates.{name}.taps: {shape.taps}, but data.window shows {self.data.window} samples"
                )
        return self


SHAPE = SignalParams
