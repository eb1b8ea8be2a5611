"""The measurements of an evaluation, read again from what it recorded.

Scores come from reports/predictions.parquet, data, bundles and the ledger from where they are; what
only a model or a clock can tell is taken from the evidence: behaviour, export, answers, rehearsal
and times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.manifest import Manifest
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Case, ExportDifference, Scores, SeedScores
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_bundles, list_trainings
from plumbline.contract.validation_report import read_validation
from plumbline.evidence import data_changes
from plumbline.evidence.champion import ChampionOrigin
from plumbline.evidence.disagreement import count_disagreement
from plumbline.evidence.gather import Subjects, digest_files
from plumbline.evidence.leaks import find_leaks
from plumbline.evidence.measurements import (
    CHAMPION,
    Measurements,
    choose,
    name_form,
    rank_candidates,
)
from plumbline.evidence.samples import align_rows, name_answers
from plumbline.evidence.seeds import choose_shipped
from plumbline.evidence.variants import Variant
from plumbline.quality import runner
from plumbline.registry.ledger import Look
from plumbline.registry.package.rehearsal import Rehearsal

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Record:
    """What evaluate left on disk."""

    evidence: Mapping[str, Any]
    predictions: "pd.DataFrame"
    manifest: "pd.DataFrame"  # as in Subjects
    params: Params
    task: Task[Params]
    look: Look  # of the ledger, at the question that the evidence is about
    origin: ChampionOrigin | None  # of the champion; None where the registry does not know it


def read_measurements(record: Record) -> Measurements:
    """Read the measurements that a judgement needs; what only people look at is left out."""
    import pandas as pd

    evidence, task = record.evidence, record.task
    subjects = _read_subjects(record)
    measured = [_read_candidate(record, name) for name in record.params.candidates]
    choice = choose(measured, record.manifest, record.params.evaluation, task)
    ranked = rank_candidates(measured, task.metric)
    candidates = sorted(ranked, key=lambda candidate: candidate.name != choice.winner)
    winner = candidates[0]
    champion = _read_champion(record)
    return Measurements(
        subjects=subjects,
        metric=task.metric,
        candidates=candidates,
        choice=choice,
        variants=_read_variants(record, winner),
        baselines=_read_baselines(record),
        controls=_read_controls(record, subjects),
        champion=champion,
        champion_validation=None,
        validation_inputs={},
        disagreement=count_disagreement(winner.test, champion) if champion else None,
        test_rows=align_rows(record.manifest, "test", winner.test),
        golden={},
        reference=pd.DataFrame(),
        predictions=record.predictions,
        answers=tuple(evidence["answers"]),
        export=[ExportDifference(**difference) for difference in evidence["export"]],
        package=_read_rehearsal(evidence["rehearsal"]),
        leaks=find_leaks(record.params, task),
        bound=task.scoring.compute_bound(record.params, layout.EXAMPLES, "test"),
        behaviour=[_read_case(test) for test in evidence["behaviour"]],
    )


def _read_case(test: Mapping[str, Any]) -> Case:
    """Read what was measured of a behavioural test, without how it was judged."""
    return Case(**{field.name: test[field.name] for field in fields(Case)})


def _read_subjects(record: Record) -> Subjects:
    evidence, params, origin = record.evidence, record.params, record.origin
    number = int(evidence["looks"]["number"])
    validation = read_validation()
    bundles = evidence["bundles"]
    suite, checks = _read_suite(record, validation)
    changes = None
    if origin is not None and origin.manifest is not None:
        now = data_changes.read_keys(
            Manifest(layout.MANIFEST).read_batches(), params.evaluation.slices
        )
        changes = {"data": data_changes.compare_manifests(origin.manifest, now)}
    return Subjects(
        params=params,
        manifest=record.manifest,
        validation=validation,
        champion=None,
        origin=origin,
        candidates={name: bundles[name] for name in list_bundles(params)},
        # A ledger that knows fewer looks than the evidence is another one.
        look=replace(record.look, number=max(record.look.number, number)),
        controls={name: bundles[layout.name_control(name)] for name in params.control.candidates},
        baselines={},
        inputs={},
        suite=suite,
        checks=checks,
        digests=digest_files(),
        lineage=evidence["lineage"],
        changes=changes,
    )


def _read_suite(record: Record, validation: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the digest of the checks that params ask for, and their severities by name.

    Where the gate accepted passed, they are those that ran, as validation.json says; the checks
    themselves are not run again (see the threat model).
    """
    if ("accepted", "fail") not in [(g["name"], g["status"]) for g in record.evidence["gates"]]:
        ran = {check["name"]: check["severity"] for check in validation["checks"]}
        return validation["suite"], ran
    wanted = record.task.expectations.build_checks(record.params, record.manifest)
    return runner.digest_suite(wanted), {check.name: check.severity for check in wanted}


def _read_candidate(record: Record, name: str) -> Candidate:
    described = record.evidence["candidates"][name]
    latency = dict(record.evidence["cost"][name])
    del latency["num_bytes"]
    seeds = _read_seeds(record, name)
    shipped = choose_shipped(seeds, record.task.metric) if seeds else None
    answers = name_answers(name, shipped.seed) if shipped else name
    folder = layout.locate_bundle(shipped.bundle if shipped else name)
    return Candidate(
        name=name,
        validation=_read_scores(record, answers, "validation", described["validation"], "first"),
        test=_read_scores(record, answers, "test", described["test"], "first"),
        latency_ms=latency,
        history=None,
        num_bytes=bundle.num_bytes(folder),
        seeds=seeds,
        shipped=shipped,
    )


def _read_seeds(record: Record, name: str) -> tuple[SeedScores, ...]:
    """Read what each training of a candidate with several seeds answered; none for one seed."""
    trainings = list_trainings(record.params, name)
    if len(trainings) == 1:
        return ()
    seeds = []
    for seed, bundle_name in trainings.items():
        answers = name_answers(name, seed)
        validation = _read_scores(record, answers, "validation", {})
        test = _read_scores(record, answers, "test", {})
        seeds.append(SeedScores(seed, bundle_name, validation, test))
    return tuple(seeds)


def _read_variants(record: Record, winner: Candidate) -> list[Variant]:
    """Read the winner's forms as recorded; the scores of all but the first are in predictions."""
    variants = []
    for number, form in enumerate(record.evidence["forms"]):
        latency = {
            "one_p50": form["p50"],
            "one_p95": form["p95"],
            "batch_p50": form["batch_p50"],
            "batch_p95": form["batch_p95"],
            "rows_per_s": form["rows_per_s"],
            "slowdown": form["slowdown"],
        }
        scores = winner.test
        if number:
            scores = _read_scores(record, name_form(winner.name, form["name"]), "test", {})
        variants.append(Variant(form["name"], scores, latency, form["num_bytes"]))
    return variants


def _read_baselines(record: Record) -> dict[str, Scores]:
    described = record.evidence["baselines"]
    return {name: _read_scores(record, name, "test", described[name]["test"]) for name in described}


def _read_controls(record: Record, subjects: Subjects) -> dict[str, Scores]:
    scores = {}
    for name in subjects.controls:
        scores[name] = _read_scores(record, layout.name_control(name), "test", {})
    return scores


def _read_champion(record: Record) -> Scores | None:
    champion = record.evidence["champion"]
    if champion is None:
        return None
    return _read_scores(record, CHAMPION, "test", champion["metrics"])


def _read_scores(
    record: Record,
    name: str,
    split: str,
    metrics: Mapping[str, float],
    keep: Literal["first", "last"] = "last",
) -> Scores:
    """Read what a predictor answered, in the order in which it was scored.

    Means of what is recorded row by row are computed again; other `metrics` are as recorded.
    """
    predictions = record.predictions
    rows = predictions[(predictions["candidate"] == name) & (predictions["split"] == split)]
    # A baseline may have a candidate's name; candidates are written first.
    rows = rows.drop_duplicates("id", keep=keep)
    rows = rows.drop(columns=["candidate", "split"]).dropna(axis="columns", how="all")
    columns = {str(column): rows[column].to_numpy() for column in rows}
    metric = record.task.metric
    means = {key: float(columns[key].mean()) for key in (metric.name, "cost") if key in columns}
    return Scores(columns, dict(metrics) | {key: means[key] for key in means if key in metrics})


def _read_rehearsal(recorded: Mapping[str, Any]) -> Rehearsal:
    return Rehearsal(
        problems=tuple(recorded["problems"]),
        rss_mb=recorded["rss_mb"],
        longest_ms=recorded["longest_ms"],
        num_rows=recorded["num_rows"],
        num_singles=recorded["num_singles"],
        seed=recorded["seed"],
        answers=(),
    )
