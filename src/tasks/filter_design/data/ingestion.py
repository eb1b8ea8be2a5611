"""From params to specifications, designs to learn from, and a manifest with one row for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.tables.split_rows import gather_rows
from tasks.filter_design.data.generated import draw_specifications
from tasks.filter_design.data.source import read_source
from tasks.filter_design.data.specifications import Specification, list_columns
from tasks.filter_design.data.storage import (
    name_rows,
    read_specifications,
    write_designs,
    write_specifications,
)
from tasks.filter_design.data.theorem import compute_limit, is_possible
from tasks.filter_design.params import (
    FileShares,
    FilterData,
    FilterParams,
    GeneratedSpecifications,
)
from tasks.filter_design.predictor.ladder import compute_reference
from tasks.filter_design.predictor.rows import read_specs
from tasks.filter_design.predictor.strategies import search_textbook

if TYPE_CHECKING:
    import pandas as pd

HASH_SIZE = 2**64


def ingest(params: FilterParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's specifications, designs of train and validation, and the manifest."""
    notices: list[str] = []
    parts = _collect_splits(params.data, params.seed, notices)
    designed = {}
    for split, specifications in parts.items():
        write_specifications(examples, split, specifications)
        if split != "test":
            designs = _search_designs(specifications, params.data.search_calls)
            write_designs(examples, split, designs)
            designed[split] = int(designs["meets"].sum())
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {
        "source": params.data.source,
        "specifications": {split: len(part) for split, part in parts.items()},
        "possible": {split: sum(map(is_possible, part)) for split, part in parts.items()},
        "met_by_textbook": designed,
        "notices": notices,
    }


def list_rows(examples: Path, split: str) -> "pd.DataFrame":
    """Return the manifest's rows of one split, in order, with all columns but `split`."""
    import pandas as pd

    specifications = read_specifications(examples, split)
    limits = [compute_limit(one, one.max_order) for one in specifications]
    asked = [one.min_attenuation_db for one in specifications]
    columns = {
        "id": name_rows(split, len(specifications)),
        "label": [one.label for one in specifications],
        "length": [one.max_order for one in specifications],
        "digest": [one.digest for one in specifications],
        "kind": [one.kind for one in specifications],
        "series": [one.series for one in specifications],
        "slack_db": np.array(limits) - np.array(asked),
    }
    return pd.DataFrame(columns)


def _collect_splits(
    data: FilterData, seed: int, notices: list[str]
) -> dict[str, list[Specification]]:
    if data.generated is not None:
        return _generate(data.generated, seed)
    if data.split is None:
        raise DataError("data.split is null, but the specifications are those of a file")
    return _divide(read_source(data, notices), data.split)


def _generate(settings: GeneratedSpecifications, seed: int) -> dict[str, list[Specification]]:
    parts = {}
    for number, split in enumerate(SPLITS):
        random = np.random.default_rng((seed, number))
        parts[split] = draw_specifications(settings, getattr(settings.rows, split), random)
    return parts


def _divide(
    specifications: Sequence[Specification], shares: FileShares
) -> dict[str, list[Specification]]:
    """Divide specifications by their digest."""
    parts: dict[str, list[Specification]] = {split: [] for split in SPLITS}
    for specification in specifications:
        point = int(specification.digest[:16], 16) / HASH_SIZE
        held_out = "test" if point < shares.test else "validation"
        is_train = point >= shares.test + shares.validation
        parts["train" if is_train else held_out].append(specification)
    for split, part in parts.items():
        if not part:
            raise DataError(
                f"{len(specifications)} specifications leave none for {split}; "
                "add some, or change data.split"
            )
    return parts


def _search_designs(specifications: Sequence[Specification], calls: int) -> "pd.DataFrame":
    """Search a design for each specification within so many calls of the simulator.

    The columns are those of storage.DESIGN_COLUMNS.
    """
    import pandas as pd

    rows = []
    for spec in read_specs(list_columns(specifications)):
        design = search_textbook(spec, calls)[0]
        reference = compute_reference(spec, design.order, design.topology)
        rows.append(
            {
                "order": design.order,
                "topology": design.topology,
                "ratios": np.log(design.parts / reference).round(9).tolist(),
                "meets": bool(design.margin_db >= 0),
            }
        )
    return pd.DataFrame(rows)
