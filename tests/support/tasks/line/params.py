"""The shape of params.yaml for the line."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from plumbline.contract.params import Name, Params, SeededConfig, StrictModel, Validation
from plumbline.contract.search import TunableConfig


class Data(StrictModel):
    watch: str
    num_rows: int
    noise: float


class PointChecks(Validation):
    max_abs_x: float


class Fixed(StrictModel):
    kind: Literal["mean", "least_squares"]


class Gradient(TunableConfig, SeededConfig):
    kind: Literal["gradient"]
    learning_rate: float
    max_epochs: int


class LineParams(Params):
    task: Literal["line"]
    data: Data
    validation: PointChecks
    candidates: Mapping[Name, Annotated[Fixed | Gradient, Field(discriminator="kind")]]


PARAMS = LineParams
