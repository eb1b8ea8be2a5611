"""Faults of any task: for each gate one, and of the looks at a test split and the champion."""

from dataclasses import replace

from plumbline.contract import layout
from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import read_json, write_json
from plumbline.quality import runner
from plumbline.registry import champion_pin, ledger, promotion
from plumbline.registry.reader import open_version
from plumbline_selftest.faulty_predictors import SLOW, exchange_bundle
from plumbline_selftest.fixture import get_faults_part
from plumbline_selftest.protocol import Fault, FaultSite

NUM_CUT_CHECKS = 6
SLOW_S = 0.15
HIGH_FLOOR, LOW_FLOOR = 0.97, -0.001  # no sound model of the fixtures has these


def _plant_nothing(site: FaultSite) -> None:
    load_yaml(layout.PARAMS)


def _cut_suite(site: FaultSite) -> None:
    import pandas as pd

    table = pd.read_parquet(layout.MANIFEST)
    checks = site.task.expectations.build_checks(site.params, table)[:-NUM_CUT_CHECKS]
    validation = read_json(layout.VALIDATION)
    names = {check.name for check in checks}
    kept = [check for check in validation["checks"] if check["name"] in names]
    changes = {"suite": runner.digest_suite(checks), "checks": kept}
    write_json(layout.VALIDATION, validation | changes)


def _use_shuffled_model(site: FaultSite) -> None:
    exchange_bundle(site.candidate, layout.locate_bundle(layout.name_control(site.candidate)))


def _use_champion(site: FaultSite) -> None:
    """Evaluate the champion as it was evaluated, with its own params."""
    layout.PARAMS.write_text(get_faults_part(site.task).read_weak_fixture(), encoding="utf-8")
    use_champion_bundle(site)


def use_champion_bundle(site: FaultSite) -> None:
    """Put the champion's bundle in place of the candidate's."""
    with open_version(f"models:/{site.params.registry.model}/1", "evaluate") as champion:
        exchange_bundle(site.candidate, champion.folder)


def _delay_answers(site: FaultSite) -> None:
    site.wrap_predictor(SLOW, {"seconds": SLOW_S})


def raise_floor(site: FaultSite) -> None:
    """Ask for nearly the best score there is; the sound candidate does not have it."""
    floor = HIGH_FLOOR if site.task.metric.higher_is_better else LOW_FLOOR
    _set_limit(site, "floor", floor)


def _limit_size(site: FaultSite) -> None:
    _set_limit(
        site,
        "budget",
        "{one_p95_ms: null, batch_p95_ms: null, rss_mb: null, bundle_mb: 0.001, cost: null}",
    )


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


def _use_up_looks(site: FaultSite) -> None:
    """Spend the planned looks at this test split on other questions."""
    name, planned = site.params.registry.model, site.params.evaluation.planned_looks
    first = ledger.read_uses(name)[0]
    for number in range(planned):
        question = f"question {number}"
        ledger.record_look(
            name, ledger.SplitUse(question=question, split=first.split, plan=first.plan)
        )


def _plan_more_looks(site: FaultSite) -> None:
    planned = site.params.evaluation.planned_looks
    site.edit_params(f"planned_looks: {planned}", f"planned_looks: {2 * planned}")


def _pin_lost_champion(site: FaultSite) -> None:
    name = site.params.registry.model
    pin = promotion.pin_champion(name)
    if pin:
        champion_pin.write_pin(name, replace(pin, version="7"))


def _pin_other_champion(site: FaultSite) -> None:
    champion_pin.write_pin(site.params.registry.model, champion_pin.ChampionPin("1", "0" * 64))


FAULTS = (
    Fault("nothing: a sound challenger", "none", "promote", _plant_nothing),
    Fault("an expectation suite with its end cut off", "accepted", "refuse", _cut_suite),
    Fault(
        "a model of shuffled labels",
        "baselines",
        "refuse",
        _use_shuffled_model,
        needs_control=True,
    ),
    Fault("the champion again", "champion", "keep", _use_champion),
    Fault("a model that is not good enough", "floor", "refuse", raise_floor),
    Fault("a model that is too large", "budget", "refuse", _limit_size),
    Fault("a model that takes too much memory", "budget", "refuse", _limit_memory),
    Fault("a slow model", "budget", "refuse", _delay_answers),
    Fault("a test split that is worn out", "power", "refuse", _use_up_looks),
    Fault("more uses of a test split than were planned", "power", "refuse", _plan_more_looks),
    Fault(
        "a champion in champion.json that no decision made",
        "does not contain that entry",
        "error",
        _pin_lost_champion,
    ),
    Fault(
        "a champion in champion.json without its decision",
        "names no journal entry",
        "error",
        _pin_other_champion,
    ),
)
