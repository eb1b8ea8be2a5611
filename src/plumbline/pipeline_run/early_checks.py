"""What only the last stages ask of the environment: asked before the first one begins."""

from collections.abc import Sequence

from plumbline.bundle import signatures
from plumbline.contract.errors import JournalError, ParamsError
from plumbline.registry import journal, signing
from plumbline.registry.reader import contents

LAST = {"evaluate", "register"}  # the stages that ask for them
ALL = "dvc.yaml"  # as a target: all its stages


def require_settings(targets: Sequence[str]) -> None:
    """Raise ParamsError where evaluate or register would miss a setting, hours later.

    `targets` are the stages that were asked for, as `evaluate` or `dvc.yaml:evaluate`; none is all.
    """
    stages = {target.rpartition(":")[2] for target in targets} or {ALL}
    if not stages & {*LAST, ALL}:
        return
    try:
        journal.find_journal_uri()
    except JournalError as error:
        raise ParamsError(str(error)) from None
    private_key, public_key = signing.find_private_key(), contents.find_public_key()
    if private_key is not None:
        signatures.check_private_key(private_key)
    if public_key is not None:
        signatures.check_public_key(public_key)
