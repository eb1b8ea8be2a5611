"""The faults that fit any task, and all faults of one task in the order of the gates."""

from plumbline.contract import layout
from plumbline.contract.faults import Fault, FaultSite
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.diagnostics.selftest.faulty_predictors import SLOW, exchange_bundle
from plumbline.diagnostics.selftest.fixture import get_faults_part
from plumbline.evidence import gates
from plumbline.quality import runner
from plumbline.registry import champion_pin, ledger
from plumbline.registry.reader import open_version

NO_GATE, EDITED = "none", "was edited"
NUM_CUT_CHECKS = 6
SLOW_S = 0.15


def list_faults(task: Task[Params]) -> list[Fault]:
    """Return the faults of `task` and those of any task; raises ParamsError if it offers none."""
    faults = [*GENERIC_FAULTS, *get_faults_part(task).list_faults()]
    order = [NO_GATE, *(name for name, _, _ in gates.GATES)]

    def rank(fault: Fault) -> int:
        return order.index(fault.gate) if fault.gate in order else len(order)

    return sorted(faults, key=rank)


def _plant_nothing(site: FaultSite) -> None:
    load_yaml(layout.PARAMS)


def _cut_suite(site: FaultSite) -> None:
    import pandas as pd

    table = pd.read_parquet(layout.MANIFEST)
    checks = site.task.expectations.build_checks(site.params, table)[:-NUM_CUT_CHECKS]
    validation = layout.read_json(layout.VALIDATION)
    names = {check.name for check in checks}
    kept = [check for check in validation["checks"] if check["name"] in names]
    changes = {"suite": runner.digest_suite(checks), "checks": kept}
    layout.write_json(layout.VALIDATION, validation | changes)


def _use_shuffled_model(site: FaultSite) -> None:
    exchange_bundle(site.candidate, layout.locate_bundle(layout.name_control(site.candidate)))


def _use_champion(site: FaultSite) -> None:
    with open_version(f"models:/{site.params.registry.model}/1", "evaluate") as champion:
        exchange_bundle(site.candidate, champion.folder)


def _delay_answers(site: FaultSite) -> None:
    site.wrap_predictor(SLOW, {"seconds": SLOW_S})


def _use_up_looks(site: FaultSite) -> None:
    """Spend the planned looks at this test split on other questions."""
    name, planned = site.params.registry.model, site.params.evaluation.planned_looks
    first = ledger.read_uses(name)[0]
    for number in range(planned):
        question = f"question {number}"
        ledger.record_look(name, question=question, split=first.split, plan=first.plan)


def _plan_more_looks(site: FaultSite) -> None:
    planned = site.params.evaluation.planned_looks
    site.edit_params(f"planned_looks: {planned}", f"planned_looks: {2 * planned}")


def _pin_lost_champion(site: FaultSite) -> None:
    champion_pin.write_pin(site.params.registry.model, champion_pin.ChampionPin("7", "0" * 64))


def _pin_other_champion(site: FaultSite) -> None:
    champion_pin.write_pin(site.params.registry.model, champion_pin.ChampionPin("1", "0" * 64))


GENERIC_FAULTS = (
    Fault("nothing: a sound challenger", NO_GATE, "promote", _plant_nothing),
    Fault("an expectation suite with its end cut off", "accepted", "refuse", _cut_suite),
    Fault("a model of shuffled labels", "baselines", "refuse", _use_shuffled_model),
    Fault("the champion again", "champion", "keep", _use_champion),
    Fault("a slow model", "budget", "refuse", _delay_answers),
    Fault("a test split that is worn out", "power", "refuse", _use_up_looks),
    Fault("more uses of a test split than were planned", "power", "refuse", _plan_more_looks),
    Fault("evidence edited by hand", EDITED, "error", _use_shuffled_model),
    Fault("a champion that the registry does not have", "selftest/7", "error", _pin_lost_champion),
    Fault(
        "a champion with files different from those that were promoted",
        "bundle digest mismatch",
        "error",
        _pin_other_champion,
    ),
)
