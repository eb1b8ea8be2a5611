"""The journal's chain, the champions it made, and the one that champion.json names."""

from collections.abc import Iterator

from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.finding import Finding
from plumbline.diagnostics.fsck.store import Store
from plumbline.registry import champion_pin, journal, model_versions, promotion
from plumbline.registry.journal import Entry

BACKUP = "restore it from a backup"


def chain(store: Store) -> Iterator[Finding]:
    """The chain, its head, and whether what it names is still there."""
    if position := journal.broken(store.entries):
        said = f"entry {position} is not what was written: the journal was changed"
        yield Finding("journal", False, said, f"{BACKUP}, and find out who could write to it")
    for name, model in store.models.items():
        own = [entry for entry in store.entries if entry.model == name]
        if number := promotion.cut(own, model.tags.get(promotion.HEAD_TAG)):
            yield Finding(
                "journal", False, f"{name}: entry {number} and what followed are gone", BACKUP
            )
    bundles = store.bundles()
    for (name, version), entries in _named(store).items():
        numbers = ", ".join(str(entry.number) for entry in entries)
        where = f"{name} version {version}, of entry {numbers}"
        if (name, version) not in bundles:
            last = store.last_move(name)
            needed = last is not None and version in (last.version, last.previous)
            remedy = (
                f"{BACKUP} of the registry"
                if needed
                else "nothing, if it was deleted on purpose: it serves no more"
            )
            yield Finding("journal", not needed, f"{where}, is gone", remedy)
        elif bundles[name, version] not in {entry.bundle for entry in entries}:
            yield Finding(
                "journal",
                False,
                f"{where}, is tagged with another bundle now",
                f"{BACKUP} of the registry",
            )


def champions(store: Store) -> Iterator[Finding]:
    """Where the alias stands against the last decision."""
    for name in store.models:
        last = store.last_move(name)
        holder = model_versions.holder(store.client, name, model_versions.CHAMPION)
        stands = str(holder.version) if holder else promotion.NONE
        if last is None and holder:
            said = f"{name}: version {stands} is champion, but no decision made it so"
            remedy = "delete the alias champion in MLflow, then `plumbline promote`; or restore the journal"
            yield Finding("champion", False, said, remedy)
        elif last and promotion.half_done(
            last, stands, store.models[name].tags.get(promotion.HEAD_TAG)
        ):
            made = f"{name}: entry {last.number} made version {last.version} champion"
            said = f"{made}, a crash kept the registry at {stands}"
            yield Finding("champion", False, said, f"`plumbline champion {name}` finishes the move")
        elif last and stands != last.version:
            said = f"{name}: the registry says {stands}, the journal {last.version}: the alias was moved by other hands"
            remedy = f"in MLflow (`make ui`) give the alias champion back to version {last.version}"
            yield Finding("champion", False, said, remedy)


def pins(store: Store) -> Iterator[Finding]:
    """champion.json against the champions of now; to compare with an older one may be meant, so that is a warning."""
    if damaged := unreadable():
        yield from damaged
        return
    pinned = champion_pin.read()
    bundles = store.bundles()
    for name, pin in pinned.items():
        last = store.last_move(name)
        now = last.version if last else promotion.NONE
        remedy = f"`plumbline champion {name} --pin`, then `dvc repro`"
        if pin and bundles.get((name, pin.version)) != pin.bundle:
            said = (
                f"names {name} version {pin.version} with a bundle that the registry does not have"
            )
            yield Finding("champion.json", False, said, remedy)
        elif (pin.version if pin else promotion.NONE) != now:
            said = f"names {pin.version if pin else promotion.NONE} as champion of {name}, which is {now} now"
            yield Finding(
                "champion.json", True, said, f"{remedy}; or leave it, to repeat an older comparison"
            )


def unreadable() -> list[Finding]:
    """Whether champion.json can be read at all."""
    try:
        champion_pin.read()
    except PlumblineError as error:
        fault, _, remedy = str(error).partition("; ")
        return [Finding("champion.json", False, fault, remedy)]
    return []


def _named(store: Store) -> dict[tuple[str, str], list[Entry]]:
    """The entries that name each version."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in store.entries:
        if entry.version:
            found.setdefault((entry.model, entry.version), []).append(entry)
    return found
