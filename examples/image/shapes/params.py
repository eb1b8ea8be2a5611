"""The keys of params.yaml that are the task's own."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from plumbline.contract.params import Name, Params, StrictModel, Validation

Count = Annotated[int, Field(ge=1)]


class Data(StrictModel):
    """Pictures are drawn: nothing is read."""

    watch: str
    num_pictures: Count
    noise: Annotated[float, Field(ge=0)]  # standard deviation; a pixel is 0 to 255


class PictureChecks(Validation):
    """What pictures must be."""

    min_contrast: Annotated[float, Field(ge=0)]  # standard deviation of the pixels of a picture


class Network(StrictModel):
    """Two convolutions, and a linear layer on their largest answers."""

    kind: Literal["network"]
    channels: Count
    learning_rate: Annotated[float, Field(gt=0)]
    batch_size: Count
    max_epochs: Count
    patience: Count


class ShapeParams(Params):
    """params.yaml of this task."""

    task: Literal["shapes"]
    data: Data
    validation: PictureChecks
    candidates: Mapping[Name, Network]


PARAMS = ShapeParams
