"""Faults of any task, each for one gate, and a sound challenger."""

from plumbline.contract import layout
from plumbline.process.files import read_json, write_json
from plumbline.registry import ledger
from plumbline.registry.reader import open_version
from plumbline_selftest.faulty_predictors import exchange_bundle
from plumbline_selftest.parts import get_faults_part, read_params
from plumbline_selftest.protocol import Fault, FaultSite

HIGH_FLOOR, LOW_FLOOR = 0.97, -0.001  # no sound model of the fixtures has these


def plant_nothing(site: FaultSite) -> None:
    """Change nothing."""


def raise_floor(site: FaultSite) -> None:
    """Ask for nearly the best score there is; the sound candidate does not have it."""
    _set_limit(site, "floor", HIGH_FLOOR if site.task.metric.higher_is_better else LOW_FLOOR)


def _limit_memory(site: FaultSite) -> None:
    _set_limit(
        site,
        "budget",
        "{one_p95_ms: null, batch_p95_ms: null, rss_mb: 20, bundle_mb: null, cost: null}",
    )


def _set_limit(site: FaultSite, key: str, value: object) -> None:
    """Write `value` in place of what params.yaml has there; the comment behind it goes."""
    lines = layout.PARAMS.read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"  {key}:")]
    site.edit_params(line, f"  {key}: {value}")


def _fail_checks(site: FaultSite) -> None:
    """Let every check of the data fail, and call the data accepted."""
    validation = read_json(layout.VALIDATION)
    checks = [check | {"passed": False} for check in validation["checks"]]
    write_json(layout.VALIDATION, validation | {"checks": checks})


def _use_shuffled_model(site: FaultSite) -> None:
    exchange_bundle(site.candidate, layout.locate_bundle(layout.name_control(site.candidate)))


def _use_model_as_control(site: FaultSite) -> None:
    """Pass the candidate itself off as the model that learned from shuffled labels."""
    exchange_bundle(layout.name_control(site.candidate), layout.locate_bundle(site.candidate))


def _use_champion(site: FaultSite) -> None:
    """Evaluate the champion as it was evaluated, with its own params."""
    weak = read_params(get_faults_part(site.task), weaker=True)
    layout.PARAMS.write_text(weak, encoding="utf-8")
    with open_version(f"models:/{site.params.registry.model}/1") as champion:
        exchange_bundle(site.candidate, champion.folder)


def _use_up_renamed_split(site: FaultSite) -> None:
    """Spend the planned looks on the same rows under other names."""
    first = ledger.read_uses()[0]
    for number in range(site.params.evaluation.planned_looks):
        use = ledger.SplitUse(
            question=f"question {number}", split="renamed", plan=first.plan, sketch=first.sketch
        )
        ledger.record_look("aside", use)


FAULTS = (
    Fault("nothing: a sound challenger", "none", "promote", plant_nothing),
    Fault("failed checks of data that are called accepted", "accepted", "refuse", _fail_checks),
    Fault(
        "a model of shuffled labels", "baselines", "refuse", _use_shuffled_model, needs_control=True
    ),
    Fault(
        "the model itself as its control",
        "control",
        "refuse",
        _use_model_as_control,
        needs_control=True,
    ),
    Fault("a model that is not good enough", "floor", "refuse", raise_floor),
    Fault("the champion again", "champion", "keep", _use_champion),
    Fault("a model that takes too much memory", "budget", "refuse", _limit_memory),
    Fault("a worn-out test split under other names", "power", "refuse", _use_up_renamed_split),
)
