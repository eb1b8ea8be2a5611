"""The keys of params.yaml that are the task's own."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from plumbline.contract.params import Name, Params, Share, StrictModel, Validation


class Data(StrictModel):
    """Which file is read."""

    watch: str
    source: str  # a CSV, JSONL or Parquet file, or a pattern


class TableChecks(Validation):
    """What rows must be."""

    max_gaps: Share  # of the cells of a column that may be empty


class Linear(StrictModel):
    """Ridge of scikit-learn."""

    kind: Literal["linear"]
    alpha: Annotated[float, Field(ge=0)]


class Trees(StrictModel):
    """GradientBoostingRegressor of scikit-learn."""

    kind: Literal["trees"]
    n_estimators: Annotated[int, Field(ge=1)]
    max_depth: Annotated[int, Field(ge=1, le=10)]
    learning_rate: Annotated[float, Field(gt=0, le=1)]


class HouseParams(Params):
    """params.yaml of this task."""

    task: Literal["houses"]
    data: Data
    validation: TableChecks
    candidates: Mapping[Name, Annotated[Linear | Trees, Field(discriminator="kind")]]


PARAMS = HouseParams
