"""The commands that run over a plant, in the checkout in the current folder."""

from collections.abc import Callable, Sequence

from plumbline.entrypoint import run_stage
from plumbline.registry import promotion
from plumbline.registry.reader import addresses, open_version
from plumbline_selftest.fixture import read_settings
from plumbline_selftest.protocol import Command, Fault

PIPELINE: tuple[Command, ...] = ("start", "ingest", "validate", "train", "evaluate", "register")
CHAMPION, CHALLENGER = "1", "2"  # versions, where the sound candidate is registered
REASON = "selftest"


def list_commands(fault: Fault) -> Sequence[Command]:
    """List what runs over `fault`: the pipeline from the plant on, or one command."""
    if fault.before not in PIPELINE:
        return [fault.before]
    return PIPELINE[PIPELINE.index(fault.before) : PIPELINE.index(fault.until) + 1]


def run_command(command: Command) -> None:
    """Run one command; raises what it raises."""
    COMMANDS[command]()


def _begin() -> None:
    """There is nothing but params.yaml."""


def _ingest() -> None:
    run_stage("ingest", *read_settings())


def _validate() -> None:
    run_stage("validate", *read_settings())


def _train() -> None:
    """Train every candidate and every control."""
    params, task = read_settings()
    for candidate in params.candidates:
        run_stage("train", params, task, candidate)
    for candidate in params.control.candidates:
        run_stage("control", params, task, candidate)


def _evaluate() -> None:
    run_stage("evaluate", *read_settings())


def _register() -> None:
    run_stage("register", *read_settings())


def _promote() -> None:
    promotion.promote(_read_model(), CHALLENGER, CHAMPION, REASON)


def _roll_back() -> None:
    promotion.roll_back(_read_model(), None, REASON)


def _load() -> None:
    with open_version(f"models:/{_read_model()}@{addresses.CHAMPION}", "predict") as champion:
        champion.load_predictor()


def _read_model() -> str:
    return read_settings()[0].registry.model


COMMANDS: dict[Command, Callable[[], None]] = {
    "start": _begin,
    "ingest": _ingest,
    "validate": _validate,
    "train": _train,
    "evaluate": _evaluate,
    "register": _register,
    "promote": _promote,
    "rollback": _roll_back,
    "load": _load,
}
