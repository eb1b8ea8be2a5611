"""The checkout in the current folder, as faults see it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import SPLITS, Task
from plumbline.entrypoint import run_stage
from plumbline.process.files import digest_path, read_json, write_json
from plumbline_selftest import faulty_predictors
from plumbline_selftest.fixture import get_candidate, read_settings


class CheckoutSite:
    """See `protocol.FaultSite`; params.yaml is read again for each question."""

    @property
    def params(self) -> Params:
        """What params.yaml says now."""
        return read_settings()[0]

    @property
    def task(self) -> Task[Params]:
        """The task of the checkout."""
        return read_settings()[1]

    @property
    def candidate(self) -> str:
        """The name of the candidate."""
        return get_candidate(self.params)

    def wrap_predictor(self, code: Path, config: Mapping[str, Any]) -> None:
        """See `protocol.FaultSite`."""
        faulty_predictors.wrap_predictor(self.task, self.candidate, code, config)

    def edit_params(self, old: str, new: str) -> None:
        """See `protocol.FaultSite`."""
        text = layout.PARAMS.read_text(encoding="utf-8")
        if old not in text:
            raise LookupError(f"{layout.PARAMS} does not contain {old!r}")
        layout.PARAMS.write_text(text.replace(old, new), encoding="utf-8")

    def renew_manifest(self) -> None:
        """See `protocol.FaultSite`."""
        tables = []
        for split in SPLITS:
            listed = self.task.data.list_rows(layout.EXAMPLES, split)
            own = [listed] if isinstance(listed, pd.DataFrame) else listed
            tables += [rows.assign(split=split) for rows in own]
        pd.concat(tables, ignore_index=True).to_parquet(layout.MANIFEST, index=False)

    def accept_data(self) -> None:
        """Write the digests of the data as they are now into validation.json."""
        digests = {
            "manifest": digest_path(layout.MANIFEST),
            "examples": digest_path(layout.EXAMPLES),
        }
        write_json(layout.VALIDATION, read_json(layout.VALIDATION) | digests)

    def retrain(self) -> None:
        """Train the candidate again."""
        run_stage("train", self.params, self.task, self.candidate)
