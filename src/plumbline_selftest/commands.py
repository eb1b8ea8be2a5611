"""The commands that run over a plant, in the checkout in the current folder."""

from collections.abc import Sequence

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
    params, task = read_settings()
    model = params.registry.model
    if command == "train":
        for candidate in params.candidates:
            run_stage("train", params, task, candidate)
        for candidate in params.control.candidates:
            run_stage("control", params, task, candidate)
    elif command == "promote":
        promotion.promote(model, CHALLENGER, CHAMPION, REASON)
    elif command == "rollback":
        promotion.roll_back(model, None, REASON)
    elif command == "load":
        with open_version(
            f"models:/{model}@{addresses.CHAMPION}", require_journal=True
        ) as champion:
            champion.load_predictor()
    elif command != "start":
        run_stage(command, params, task)
