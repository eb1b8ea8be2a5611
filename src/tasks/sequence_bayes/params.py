"""The types of params.yaml for sequences of symbols."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from plumbline.contract.params import Name, Params, SeededConfig, StrictModel
from plumbline.contract.search import TunableConfig

Positive = Annotated[float, Field(gt=0, le=1e6)]
Count = Annotated[int, Field(ge=1)]
MAX_SYMBOLS = 64  # of an alphabet
MAX_LENGTH = 512


class RowCounts(StrictModel):
    """How many sequences each split has."""

    train: Count
    validation: Count
    test: Count


class Component(StrictModel):
    """One Dirichlet distribution of the probabilities of symbols."""

    weight: Positive  # its share of the sequences, relative to the other weights
    alpha: Annotated[list[Positive], Field(min_length=2, max_length=MAX_SYMBOLS)]


class MixtureData(StrictModel):
    """Symbols are independent; their probabilities come from one of several Dirichlets."""

    watch: str  # the file or folder that DVC compares; the data are generated, so it may be empty
    length: Annotated[int, Field(ge=4, le=MAX_LENGTH)]  # symbols of a sequence
    rows: RowCounts
    components: Annotated[Mapping[Name, Component], Field(min_length=1, max_length=32)]

    @model_validator(mode="after")
    def _check_alphabet(self) -> "MixtureData":
        sizes = {name: len(component.alpha) for name, component in self.components.items()}
        first, size = next(iter(sizes.items()))
        for name, other in sizes.items():
            if other != size:
                raise ValueError(
                    f"components.{name}.alpha: {other} numbers, but {first} has {size}; "
                    "all components have one number for each symbol"
                )
        return self


class RuleConfig(TunableConfig):
    """Add `alpha` to the count of every symbol; closed form. Laplace adds 1, KT adds 0.5.

    `one` is the number that is most likely on train, `each` such a number for each symbol.
    """

    kind: Literal["rule"]
    alpha: Positive | Literal["one", "each"]


class NetworkConfig(TunableConfig, SeededConfig):
    """What every network needs."""

    kind: str
    fresh: bool  # draw new sequences in every epoch, in place of rows of the train split
    sequences_per_epoch: Count
    batch_size: Count  # sequences; each is asked at every position
    learning_rate: Positive  # at its highest
    warmup: Annotated[float, Field(ge=0, lt=1)]  # share of steps in which the learning rate rises
    max_epochs: Count
    patience: Count
    gradient_clip: Positive


class CountsConfig(NetworkConfig):
    """A network on the counts of symbols so far: it cannot depend on their order."""

    kind: Literal["counts"]
    hidden: Count


class CausalConfig(NetworkConfig):
    """A small causal transformer with learned positions."""

    kind: Literal["transformer"]
    width: Count
    layers: Count
    heads: Count

    @model_validator(mode="after")
    def _check_heads(self) -> "CausalConfig":
        if self.width % self.heads:
            raise ValueError(
                f"width: {self.width}; {self.heads} heads share it: make it a multiple of "
                f"{self.heads}"
            )
        return self


Candidate = Annotated[RuleConfig | CountsConfig | CausalConfig, Field(discriminator="kind")]


class SequenceParams(Params):
    """params.yaml with task: sequence_bayes."""

    task: Literal["sequence_bayes"]
    data: MixtureData
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_training(self) -> "SequenceParams":
        if self.training.precision != "fp32":
            raise ValueError(
                f"training.precision: {self.training.precision}; differences from the exact answer "
                "are of the order of 0.001 nats: use fp32 here"
            )
        for name in self.control.candidates:
            config = self.candidates.get(name)
            if isinstance(config, RuleConfig) and isinstance(config.alpha, float):
                raise ValueError(  # noqa: TRY004 (a value of params)
                    f"control.candidates: {name} adds {config.alpha:g} whatever it is trained on; "
                    "name a candidate that learns, or set its alpha to one or each"
                )
            if isinstance(config, NetworkConfig) and config.fresh:
                raise ValueError(
                    f"control.candidates: {name} draws fresh sequences, and would not see the "
                    "shuffled ones; name another"
                )
        return self


PARAMS = SequenceParams
