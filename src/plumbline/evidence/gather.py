"""First step of an evaluation: read what is compared, record the use of the test split."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.task import Columns, Task
from plumbline.contract.trainings import list_bundles
from plumbline.evidence.champion import ChampionModel, load_champion
from plumbline.evidence.document import DIGESTED_FILES, READ_BY_EVALUATE, list_all_bundles
from plumbline.evidence.records import DataFacts
from plumbline.process.files import digest_path, read_validation
from plumbline.process.lineage import collect_lineage
from plumbline.quality import runner, suite
from plumbline.quality.manifest_check import check_manifest
from plumbline.registry import ledger
from plumbline.registry.journal_rules import NO_CHAMPION
from plumbline.registry.ledger import SplitUse
from plumbline.sources.shown_params import digest_shown_params
from plumbline.tables.manifest_file import Manifest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Subjects:
    """Everything that an evaluation compares, and the data on which it compares.

    Candidates and controls are named here and loaded one at a time when they are measured: all at
    once they would fill the memory and disturb each other's latency.
    """

    params: Params
    manifest: "pd.DataFrame"  # held-out rows, and of train one for each label
    data: DataFacts
    champion: ChampionModel | None
    bundles: Mapping[str, str]  # the digest of each, of candidates and controls, by its name
    inputs: Columns  # the predictor's columns of the test split
    lineage: Mapping[str, str]


def gather(params: Params, task: Task[Params]) -> Subjects:
    """Read what is compared; PlumblineError names what cannot be read.

    This is one use of the test split: the ledger records it before anything is known of the split.
    """
    manifest = _read_manifest(params, task)
    validation = read_validation()
    compared = [*chain.from_iterable(params.evaluation.list_columns().values())]
    champion = load_champion(params.registry.model, task, compared)
    bundles = {name: bundle.digest(layout.locate_bundle(name)) for name in list_all_bundles(params)}
    use = _describe_use(params, task, manifest, champion.bundle if champion else None, bundles)
    look = ledger.record_look(params.registry.model, use)
    checks = suite.build_suite(params, task, manifest)
    data = DataFacts(
        digests=digest_read_files(),
        validation=_select_acceptance(validation),
        suite=runner.digest_suite(checks),
        leaks=(),  # `measure` looks for them
        look=look,
    )
    return Subjects(
        params=params,
        manifest=manifest,
        data=data,
        champion=champion,
        bundles=bundles,
        inputs=task.data.read_inputs(layout.EXAMPLES, "test"),
        lineage=collect_lineage(),
    )


def digest_read_files() -> dict[str, str]:
    """Return the digests of what an evaluation reads; that of params.yaml is without secrets."""
    digests = {name: digest_path(DIGESTED_FILES[name]) for name in READ_BY_EVALUATE}
    return digests | {"params": digest_shown_params(layout.PARAMS)}


def _describe_use(
    params: Params,
    task: Task[Params],
    manifest: "pd.DataFrame",
    champion: str | None,
    bundles: Mapping[str, str],
) -> SplitUse:
    """Describe the use of the test split that compares these bundles: candidates and champion.

    Every model whose test score is shown is part of the question, and so is by which rule it may
    follow the champion; the same question asked again is not another use.
    """
    rows = manifest[manifest["split"] == "test"].astype(str)
    question = [
        *(bundles[name] for name in sorted(list_bundles(params))),
        champion or NO_CHAMPION,
        task.name,
        *sorted(rows["id"] + " " + rows["label"]),
    ]
    split = sorted(rows["id"] + " " + rows["digest"])
    limits = params.evaluation
    rule = f"{limits.champion.policy} by {limits.champion.margin:g}"
    rule += f", slices {', '.join(limits.slices) or 'none'}"
    if limits.groups:
        rule += f", {limits.groups.rate} of groups of {', '.join(limits.groups.columns)}"
    for key, value in limits.describe_metric().items():
        rule += f", {key} {json.dumps(value, sort_keys=True)}" if value is not None else ""
    return SplitUse(
        f"{_hash_lines(question)} {rule}",
        _hash_lines(split),
        f"{limits.planned_looks} uses at {limits.confidence:g}",
        # By what a row contains: a new file name, order or label makes no new split.
        sketch=ledger.build_sketch(rows["digest"]),
    )


def _hash_lines(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _select_acceptance(validation: Mapping[str, Any]) -> dict[str, Any]:
    """Select what the gate accepted reads of reports/validation.json."""
    selected = {key: validation.get(key) for key in ("accepted", "manifest", "examples", "suite")}
    checks = [
        {key: check[key] for key in ("name", "severity", "passed")}
        for check in validation.get("checks", [])
    ]
    return selected | {"checks": checks}


def _read_manifest(params: Params, task: Task[Params]) -> "pd.DataFrame":
    """Return what an evaluation needs of the manifest, which is that of the examples."""
    manifest = Manifest(layout.MANIFEST)
    columns = manifest.list_columns()
    for key, named in params.evaluation.list_columns().items():
        for column in named:
            if column not in columns:
                hint = suggest_nearest(column, columns) or f"; it has {', '.join(columns)}"
                raise ParamsError(f"{key}: {layout.MANIFEST} has no column {column}{hint}")
    check_manifest(manifest, task, layout.EXAMPLES)
    return manifest.read_held_out()
