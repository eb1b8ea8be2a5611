"""Accept a champion that somebody chose in MLflow itself, by its UI or client.

The move itself is refused by everything that reads the champion, until it has passed every check
that `promote` makes and is in the journal.
"""

from plumbline.contract.errors import AliasMovedError, ParamsError, PlumblineError, RegistryError
from plumbline.registry import promotion_checks as checks
from plumbline.registry.journal import Entry
from plumbline.registry.journal_rules import NO_CHAMPION, find_last_move, require_allowed
from plumbline.registry.promotion import build_decision, decide
from plumbline.registry.reader import find_version
from plumbline.registry.reconciliation import lock_decisions, reconcile


def adopt(name: str, reason: str) -> Entry:
    """Journal a champion that was set in MLflow, if it passes every check of `promote`.

    Raises RegistryError where nothing was moved, and what `promote` raises, with the way back.
    """
    if not reason.strip():
        raise ParamsError("adopt needs a --reason: it is written into the journal")
    version, champion = _find_moved_alias(name)
    if version == NO_CHAMPION:
        raise RegistryError(
            f"{name}: no version has the alias champion; set it back to version {champion}"
        )
    try:
        return _adopt_version(name, version, f"moved in MLflow, then adopted: {reason}")
    except PlumblineError as error:
        back = f"set it back to version {champion}" if champion != NO_CHAMPION else "remove it"
        hint = f"the alias champion stays at version {version} and stops all decisions; {back}"
        error.args = (f"{error}; {hint}",)
        raise


def _adopt_version(name: str, version: str, reason: str) -> Entry:
    registered, evidence = checks.verify_version(name, version)
    checks.require_promotable(registered, evidence)
    with lock_decisions() as (client, book):
        try:
            reconcile(client, book, name)
        except AliasMovedError as moved:
            alias = moved.version
        else:
            alias = NO_CHAMPION
        is_same = find_version(f"models:/{name}/{version}").tags == registered.tags
        if alias != version or not is_same:
            raise RegistryError(f"{name}: the alias or version {version} was changed meanwhile")
        entries = book.read_entries(name)
        current = find_last_move(entries)
        champion = current.version if current else NO_CHAMPION
        decision = build_decision(registered, champion, "promote", reason)
        require_allowed(decision, entries)
        checks.refuse_other_comparison(name, version, evidence, current)
        return decide(client, book, decision)


def _find_moved_alias(name: str) -> tuple[str, str]:
    """Return the version that holds the alias in MLflow, and the champion by the journal."""
    with lock_decisions() as (client, book):
        try:
            current = reconcile(client, book, name)
        except AliasMovedError as moved:
            last = find_last_move(book.read_entries(name))
            return moved.version, last.version if last else NO_CHAMPION
    champion = current.version if current else NO_CHAMPION
    raise RegistryError(
        f"{name}: nothing to adopt: the champion is {champion} in the journal and in MLflow"
    )
