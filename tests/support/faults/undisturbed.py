"""Runs that nothing disturbs: the state before each stage, what to compare with, calls to fail."""

import json
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.faults.observation import compare, list_files, read_results
from tests.support.faults.pipeline import DECISIONS, Pipeline
from tests.support.faults.site import Site, copy_missing_files

KINDS = ("rename", "unlink", "fsync", "write")  # of calls
PAGE = "page"  # of the disk
SPARE_PAGES = 8  # what is written for a moment, beyond what stays
PREPARED = "prepared.json"  # a folder that has it is used again
CACHE = ".dvc/cache"


@dataclass
class Undisturbed:
    """What runs without a fault did. The site has the states `before STAGE` and `done`."""

    results: dict[str, Any] = field(default_factory=dict)
    after: dict[str, dict[str, Any]] = field(default_factory=dict)  # results, by the last stage
    times: list[str] = field(default_factory=list)  # the results that differ in each run
    files: list[str] = field(default_factory=list)  # all that they left
    counts: dict[str, dict[str, int]] = field(default_factory=dict)  # of calls and pages, by stage


def prepare(site: Site, pipeline: Pipeline, *, has_decisions: bool) -> Undisturbed:
    """Run the pipeline without a fault, unless the site's folder has what came of that."""
    path = site.folder / PREPARED
    if path.exists():
        done = Undisturbed(**json.loads(path.read_text(encoding="utf-8")))
    else:
        done = Undisturbed()
        site.make_checkout(pipeline)
        _run_stages(site, pipeline, done)
        _run_again(site, pipeline, done)
        _let_dvc_restore_later_stages(site.folder, pipeline)
    if has_decisions and not done.counts.keys() >= set(DECISIONS):
        _decide(site, pipeline, done)
    path.write_text(json.dumps(asdict(done)), encoding="utf-8")
    return done


def _run_stages(site: Site, pipeline: Pipeline, done: Undisturbed) -> None:
    """Run one stage after the other, and save the state before each."""
    for stage, name in pipeline.stages.items():
        site.end_processes()
        site.save(f"before {stage}")
        command = ("dvc", "repro", "--quiet", "--single-item", name)
        done.counts[stage] = {PAGE: _count_pages(site, *command)}
    site.end_processes()
    site.save("done")
    done.results = read_results(site.work)
    done.files = sorted(list_files(site.work))


def _run_again(site: Site, pipeline: Pipeline, done: Undisturbed) -> None:
    """Run all again, to find what differs in each run, then each stage to count its calls."""
    site.restore("before ingest")
    for stage, name in pipeline.stages.items():
        _run(site, "plumbline", "run", name)
        done.after[stage] = read_results(site.work)
    done.times = compare(done.results, done.after[stage], [])
    done.files = sorted({*done.files, *list_files(site.work)})
    for stage in pipeline.stages:
        done.counts[stage] |= _count_calls(site, stage, pipeline.get_command(stage))


def _decide(site: Site, pipeline: Pipeline, done: Undisturbed) -> None:
    """Register a second version, and save the state before each decision about it."""
    site.restore("done")
    pipeline.write_other_params(site.work)
    _run(site, "plumbline", "run")
    for decision in DECISIONS:
        site.end_processes()
        site.save(f"before {decision}")
        command = pipeline.get_command(decision)
        counts = _count_calls(site, decision, command)
        site.restore(f"before {decision}")
        done.counts[decision] = counts | {PAGE: _count_pages(site, *command)}


def _let_dvc_restore_later_stages(folder: Path, pipeline: Pipeline) -> None:
    """Let the cache of each state have what the stages after its own and before evaluate computed.

    Where their inputs are the same, bit for bit, they are then restored in place of run. Evaluate
    has to run: it writes its look at the test split into the journal. So does register.
    """
    names = list(pipeline.stages)
    computed = folder / "before evaluate" / CACHE
    for stage, following in pairwise(names[: names.index("evaluate")]):
        target, known = (folder / f"before {name}" / CACHE for name in (stage, following))
        copy_missing_files(computed, target, known)


def _count_calls(site: Site, stage: str, command: list[str]) -> dict[str, int]:
    """Run a stage as it is run under a fault, and count its calls of each kind."""
    site.restore(f"before {stage}")
    _run(site, *command, fault="any|0|count")
    lines = site.token.read_text(encoding="utf-8", errors="replace").splitlines()
    return {kind: sum(line.startswith(f"{kind} ") for line in lines) for kind in KINDS}


def _count_pages(site: Site, *command: str) -> int:
    """Run a command and count the pages of the disk that it fills."""
    used = site.disk.count_pages()
    _run(site, *command)
    return site.disk.count_pages() - used + SPARE_PAGES


def _run(site: Site, *command: str, fault: str = "") -> None:
    done = site.run(*command, fault=fault)
    if done.returncode:
        raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
