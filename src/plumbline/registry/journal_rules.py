"""What the journal allows: checks of a decision against the entries before it, and nothing else."""

from collections.abc import Sequence

from plumbline.contract.errors import (
    BundleError,
    JournalError,
    JournalIntegrityError,
    RefusedError,
    RegistryError,
)
from plumbline.registry.journal import Decision, Entry

NO_CHAMPION = "none"
RULINGS = ("registered", "keep", "refuse")  # what `register` writes about a bundle


def require_allowed(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Require that the entries before a move, all of its model, allow it.

    `first` and `promote` take a version that was registered with this bundle and evidence, neither
    refused nor returned since, and never champion; `override` one that was registered; `rollback`
    a former champion as it was chosen. Raises JournalError, RefusedError, RegistryError or
    BundleError with the reason why not.
    """
    if decision.action == "rollback":
        _require_as_chosen(decision, earlier)
        return
    _require_registered(decision, earlier)
    if decision.action == "override":
        return
    refuse_unfit(decision.model, decision.version, decision.bundle, earlier)
    _refuse_former_champion(decision, earlier)


def refuse_unfit(model: str, version: str, bundle: str, entries: Sequence[Entry]) -> None:
    """Raise RefusedError for a bundle that was refused after its registration, or returned.

    A bundle that is registered again under another number is the same model: it stays returned.
    """
    rulings = list_rulings(bundle, entries)
    if rulings and rulings[-1].action == "refuse":
        last = rulings[-1]
        raise RefusedError(
            f"{model} version {version}: its bundle was refused since it was registered "
            f"(journal entry {last.number}: {last.reason}) Nothing was changed"
        )
    for entry in reversed(entries):
        if entry.action == "return" and (entry.version == version or entry.bundle == bundle):
            other = "" if entry.version == version else f", as version {entry.version},"
            raise RefusedError(
                f"{model}: version {version} was returned{other} as a canary on {entry.at[:10]} "
                f"({entry.reason}); nothing was changed. --override with a --reason promotes it "
                "anyway"
            )


def find_last_move(entries: Sequence[Entry]) -> Entry | None:
    """Find the last decision that made a version champion, in entries of one model."""
    return next((entry for entry in reversed(entries) if entry.moves), None)


def find_choice(entries: Sequence[Entry], version: str) -> Entry | None:
    """Find the decision that chose a champion on its evidence: the last one but rollbacks.

    A rollback repeats a choice, and is written from tags that may have been exchanged by then.
    """
    decisions = [entry for entry in entries if entry.moves and entry.version == version]
    chosen = [entry for entry in decisions if entry.action != "rollback"]
    return find_last_move(chosen or decisions)


def list_rulings(bundle: str, entries: Sequence[Entry]) -> list[Entry]:
    """List what `register` wrote about a bundle: RULINGS, oldest first."""
    return [entry for entry in entries if entry.action in RULINGS and entry.bundle == bundle]


def build_forgery_error(move: Entry, reason: str) -> JournalIntegrityError:
    """Build the error for a move in the journal that plumbline did not write."""
    return JournalIntegrityError(
        f"{move.model}: journal entry {move.number} ({move.action} of version {move.version}) was "
        f"not written by plumbline: {reason}. The champion was not changed; restore the journal "
        "from a backup, and find out who can write to it"
    )


def _require_as_chosen(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Require that a former champion has the files and the evidence that it was chosen with.

    Raises BundleError where it has others, RegistryError where it never was champion.
    """
    entry = find_choice(earlier, decision.version)
    if entry is None:
        raise RegistryError(
            f"{decision.model}: version {decision.version} never was champion; "
            "use `plumbline promote`"
        )
    if decision.bundle != entry.bundle:
        difference = "bundle"
    elif decision.evidence != entry.evidence:
        difference = "evidence"
    else:
        return
    raise BundleError(
        f"{_label(decision)}: its {difference} is not the one that journal entry {entry.number} "
        "made champion; it was exchanged outside plumbline. Nothing was changed. Restore the "
        "version from a backup, or go back further: "
        f"`plumbline rollback {decision.model} --to VERSION`"
    )


def _require_registered(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Require that the journal says of this version, bundle and evidence that it was registered."""
    rulings = list_rulings(decision.bundle, earlier)
    numbers = [entry.version for entry in rulings if entry.action == "registered"]
    if decision.version not in numbers:
        raise JournalError(
            f"{_label(decision)}: the journal does not say that it was registered: it was made "
            "outside plumbline. Nothing was changed. "
            "`dvc repro --force --single-item register` registers what was evaluated here"
        )
    last = rulings[-1]
    if last.action == "refuse" and decision.action != "override":
        return  # `refuse_unfit` refuses it, with a better reason than other evidence
    if last.evidence != decision.evidence:
        raise JournalError(
            f"{_label(decision)}: its evidence is not that of journal entry {last.number} "
            f"({last.action}): it was exchanged outside plumbline, or a run of `register` was cut "
            "off. Nothing was changed. `dvc repro --force --single-item register` registers again "
            "what was evaluated here"
        )


def _refuse_former_champion(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Refuse a version that was champion once.

    Its evidence is as old as that, so it cannot be promoted again; `rollback` brings it back.
    """
    for entry in earlier:
        if entry.moves and entry.version == decision.version:
            raise RegistryError(
                f"{decision.model}: version {decision.version} was champion before; "
                f"`plumbline rollback {decision.model} --to {decision.version}` brings it back"
            )


def _label(decision: Decision) -> str:
    return f"{decision.model} version {decision.version}"
