"""One champion at a time: compare and set, a journal that shows tampering, healed crashes."""

import json
import os
import pwd
import re
import shlex
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlparse

import pytest
from tests.support.effort import choose_effort
from tests.support.evidence import describe_gates
from tests.support.racing import (
    NAME,
    add_version,
    copy_databases,
    empty_journal,
    find_in_mlflow,
    find_stored_bundle,
    make_first_champion,
    race,
    read_champion_alias,
    read_decisions,
    record_registration,
    record_verdict,
)
from typer.testing import CliRunner

from plumbline.cli import app
from plumbline.contract.errors import (
    BundleError,
    JournalError,
    JournalIntegrityError,
    ParamsError,
    PlumblineError,
    RefusedError,
    RegistryError,
)
from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.process.files import digest_path, write_json
from plumbline.registry import champion_pin, journal, model_versions, promotion
from plumbline.registry.champion_pin import ChampionPin
from plumbline.registry.reader import addresses

KEEP, REFUSE, OTHER_BUNDLE = "456"  # beside 1, 2 and 3, of which each may replace the one before
NUM_REGISTERED = 6  # entries before the first decision


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's folder whose registry holds versions with evidence, and no champion."""
    root = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        for slope in (1, 2, 3):
            add_version(root, slope)
        assert add_version(root, 4, verdict="keep", summary="it is not better.") == KEEP
        assert add_version(root, 5, verdict="refuse", summary="floor failed.") == REFUSE
        assert add_version(root, 6, champion=None, digests={"bundle": "0" * 64}) == OTHER_BUNDLE
        (root / "mlruns/journal.db").unlink()
        assert empty_journal() == NUM_REGISTERED
    copy_databases(root / "mlruns", root / "kept")
    return root


@pytest.fixture
def undecided(versions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder as the cwd, with no champion; the journal registers the versions, no more."""
    monkeypatch.chdir(versions)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name in ("mlruns/journal.db", "champion.json"):
        (versions / name).unlink(missing_ok=True)
    copy_databases(versions / "kept", versions / "mlruns")
    return versions


@pytest.fixture
def here(undecided: Path) -> Path:
    """The same, and version 1 is champion."""
    make_first_champion("1")
    return undecided


@contextmanager
def changed(path: Path, old: bytes, new: bytes) -> Iterator[None]:
    """A file in which `old` was replaced, for the length of a block."""
    kept = path.read_bytes()
    assert old in kept
    path.write_bytes(kept.replace(old, new))
    yield
    path.write_bytes(kept)


def evidence_file(version: str) -> Path:
    """Where the evidence of a version is, in its run."""
    client = model_versions.connect_registry()
    run = client.get_run(client.get_model_version(NAME, version).run_id)
    return Path(unquote(urlparse(run.info.artifact_uri).path)) / "evidence.json"


def test_first_promote_rollback(undecided: Path) -> None:
    assert make_first_champion("1") is not None
    assert make_first_champion("2") is None  # a cold start happens once
    promotion.promote(NAME, "2", expect="1", reason="better")
    promotion.promote(NAME, "3", expect="2", reason="better still")
    assert read_champion_alias() == "3"
    promotion.roll_back(NAME, None, "it was not")
    assert read_champion_alias() == "2"
    promotion.roll_back(NAME, None, "nor was that")  # two steps back
    assert read_champion_alias() == "1"
    with pytest.raises(RegistryError, match="no champion before 1"):
        promotion.roll_back(NAME, None, "")
    entries = read_decisions()
    assert [(e.action, e.previous, e.version) for e in entries] == [
        ("first", "none", "1"),
        ("promote", "1", "2"),
        ("promote", "2", "3"),
        ("rollback", "3", "2"),
        ("rollback", "2", "1"),
    ]


def test_a_promotion_on_old_knowledge_changes_nothing(here: Path) -> None:
    promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(RegistryError, match="the champion is 2, not 1"):
        promotion.promote(NAME, "3", expect="1", reason="")
    with pytest.raises(RegistryError, match="never was champion"):
        promotion.roll_back(NAME, "3", "")
    with pytest.raises(RegistryError, match="99"):
        promotion.promote(NAME, "99", expect="2", reason="")
    assert read_champion_alias() == "2"
    assert len(read_decisions()) == 2


def test_a_changed_package_is_not_promoted(here: Path) -> None:
    weights = find_stored_bundle(f"models:/{NAME}/2") / "weights.json"
    with (
        changed(weights, b"2", b"9"),
        pytest.raises(BundleError, match="changed since the bundle was sealed"),
    ):
        promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"


def test_the_verdict_decides(here: Path) -> None:
    for version, said in (
        (KEEP, r"the verdict is keep: it is not better\."),
        (REFUSE, "the verdict is refuse: floor"),
    ):
        with pytest.raises(RefusedError, match=said) as refused:
            promotion.promote(NAME, version, expect="1", reason="I want it")
        assert refused.value.exit_code == 20
    assert read_champion_alias() == "1"


def test_a_comparison_with_another_champion_proves_nothing(here: Path) -> None:
    with pytest.raises(
        RegistryError, match="version 3 was compared with champion 2, the champion is 1"
    ) as refused:
        promotion.promote(NAME, "3", expect="1", reason="")
    assert f"`plumbline champion {NAME} --pin`, then `dvc repro`" in str(refused.value)
    assert read_champion_alias() == "1"


def test_what_made_a_version_champion_once_does_not_make_it_champion_again(undecided: Path) -> None:
    first = promotion.promote(NAME, "1", expect="none", reason="a first one")
    promotion.promote(NAME, "2", expect="1", reason="")
    record_registration("1", first.bundle, "of the same bundle, trained again")
    with pytest.raises(
        RegistryError, match=r"version 1 was champion before; `plumbline rollback line --to 1`"
    ):
        promotion.promote(NAME, "1", expect="2", reason="")
    again = promotion.promote(NAME, "1", expect="2", reason="it passed again", override=True)
    assert again.evidence == first.evidence


def test_an_override_takes_a_reason_and_stands_in_the_journal(here: Path) -> None:
    for reason in ("", " "):
        with pytest.raises(ParamsError, match="--reason"):
            promotion.promote(NAME, REFUSE, expect="1", reason=reason, override=True)
    promotion.promote(NAME, REFUSE, expect="1", reason="the old one leaks names", override=True)
    last = promotion.read_history(NAME)[-1]
    assert (last.action, last.previous, last.version) == ("override", "1", REFUSE)
    assert last.evidence == digest_path(evidence_file(REFUSE))
    assert read_champion_alias() == REFUSE
    assert promotion.roll_back(NAME, None, "").version == "1"


def test_a_decision_on_a_bundle_is_on_no_other(here: Path) -> None:
    looked_at = find_in_mlflow(f"models:/{NAME}/2").tags[addresses.BUNDLE_TAG]
    with pytest.raises(
        RegistryError, match=f"version 2 is bundle {looked_at[:12]}, not 000000000000"
    ):
        promotion.promote(NAME, "2", expect="1", reason="", bundle="0" * 64)
    for odd in (looked_at[:11], "../" + looked_at, looked_at.upper(), f"{looked_at}\n"):
        with pytest.raises(ParamsError, match="expected the digest of a bundle"):
            promotion.promote(NAME, "2", expect="1", reason="", bundle=odd)
    assert read_champion_alias() == "1"
    assert promotion.promote(NAME, "2", expect="1", reason="", bundle=looked_at[:12]).version == "2"


def test_a_canary_that_was_returned_takes_an_override(here: Path) -> None:
    with journal.lock_journal() as book:
        book.append(journal.Decision(NAME, "return", "2", "", "", "", "3 failures in 40 requests"))
    with pytest.raises(
        RefusedError, match=r"returned as a canary on 20\d\d-.* \(3 failures in 40 requests\)"
    ):
        promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"
    entry = promotion.promote(NAME, "2", expect="1", reason="the disk was full", override=True)
    assert entry.version == "2"


@pytest.mark.parametrize("override", [False, True])
def test_changed_evidence_is_never_passed_over(here: Path, override: bool) -> None:
    path = evidence_file("2")
    with (
        changed(path, b"it is better", b"it is best"),
        pytest.raises(BundleError, match="version 2: its evidence was"),
    ):
        promotion.promote(NAME, "2", expect="1", reason="in a hurry", override=override)
    path.rename(path.with_suffix(".aside"))
    with pytest.raises(BundleError, match=r"its evidence does not exist .*evidence\.json"):
        promotion.promote(NAME, "2", expect="1", reason="in a hurry", override=override)
    path.with_suffix(".aside").rename(path)
    with pytest.raises(BundleError, match="is about another bundle"):
        promotion.promote(NAME, OTHER_BUNDLE, expect="1", reason="in a hurry", override=override)
    assert read_champion_alias() == "1"


def test_decisions_are_named_in_champion_json_of_a_checkout_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promotion.promote(NAME, "2", expect="1", reason="")
    assert not (here / "champion.json").exists()  # this folder is no checkout
    with pytest.raises(PlumblineError, match="not a checkout"):
        promotion.pin_champion(NAME)
    write_json(here / "champion.json", {"other": None})
    entry = promotion.promote(NAME, "3", expect="2", reason="")
    pin = ChampionPin("3", entry.bundle, entry.number, entry.seal)
    assert champion_pin.read_pins() == {"other": None, NAME: pin}
    entry = promotion.roll_back(NAME, None, "")
    assert champion_pin.read_pins()[NAME] == champion_pin.build_pin(entry)
    other = {"version": "1", "bundle": "b", "entry": 1, "seal": "s"}
    write_json(here / "champion.json", {"other": other})
    assert promotion.pin_champion(NAME) == champion_pin.build_pin(entry)
    assert promotion.pin_champion("nobody") is None
    assert json.loads((here / "champion.json").read_text()) == {
        "other": other,
        NAME: {"version": "2", "bundle": entry.bundle, "entry": entry.number, "seal": entry.seal},
        "nobody": None,
    }


def test_going_back_to_a_version_that_was_refused_since_takes_a_reason(undecided: Path) -> None:
    first = make_first_champion("1")
    promotion.promote(NAME, "2", expect="1", reason="")
    record_verdict("refuse", "", first.bundle, "e", "floor failed.")
    with pytest.raises(RefusedError, match=r"1: its bundle was refused .*floor failed.*--force"):
        promotion.roll_back(NAME, None, "2 is worse")
    assert read_champion_alias() == "2"
    entry = promotion.roll_back(NAME, None, "2 is worse", force="2 answers nobody")
    assert (entry.version, entry.reason) == ("1", "2 is worse; forced: 2 answers nobody")


@pytest.mark.parametrize("text", ["{", '{"line": {"version": "3", "bundle": "b"}}'])
def test_a_damaged_champion_json_stops_a_decision_before_it_is_made(here: Path, text: str) -> None:
    (here / "champion.json").write_text(text)
    with pytest.raises(
        PlumblineError, match=r"champion\.json: damaged .*git checkout champion\.json"
    ):
        promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"
    assert len(read_decisions()) == 1


def test_notes_move_nothing_and_are_written_once(here: Path) -> None:
    refused = record_verdict(
        "refuse", "", "b", "e", "floor failed", name="new"
    )  # a model that the registry does not know
    promotion.promote(NAME, "2", expect="1", reason="")
    kept = record_verdict("keep", KEEP, "b", "e4", "not better")
    assert record_verdict("keep", KEEP, "b", "e4", "asked again") == kept
    assert record_verdict("keep", KEEP, "b", "e5", "").number == kept.number + 1
    assert record_verdict("refuse", "", "b", "e", "", name="new") == refused
    assert promotion.find_champion(NAME).version == "2"  # type: ignore[union-attr]
    assert promotion.find_champion(NAME).action == "promote"  # type: ignore[union-attr]
    with pytest.raises(RegistryError, match="never was champion"):
        promotion.roll_back(NAME, KEEP, "")
    assert promotion.roll_back(NAME, None, "").version == "1"


def keep(evidence: str, name: str = NAME) -> journal.Entry:
    """Write an entry that moves nothing."""
    return record_verdict("keep", KEEP, "b", evidence, "not better", name=name)


def test_entries_of_another_model_cannot_be_cut_off(undecided: Path) -> None:
    keep("a", name="aside")
    with sqlite3.connect(undecided / "mlruns/journal.db") as database:
        database.execute("DELETE FROM plumbline_journal WHERE model = 'aside'")
    with pytest.raises(JournalError, match=r"ends before entry \d+, which .* of aside names"):
        keep("b")


def test_no_entry_is_before_the_one_before_it(
    undecided: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("a")
    clock = SimpleNamespace(now=lambda zone: datetime(2020, 1, 1, tzinfo=zone))
    monkeypatch.setattr(journal, "datetime", clock)
    keep("b")
    times = [entry.at for entry in promotion.read_history(NAME)]
    assert times == sorted(times)


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE plumbline_journal SET version = '3' WHERE number = 8",
        "DELETE FROM plumbline_journal WHERE number = 7",
        "DELETE FROM plumbline_journal WHERE number = 9",
        "DELETE FROM plumbline_journal",
    ],
)
def test_tampering_shows_and_stops_everything(here: Path, tamper: str) -> None:
    promotion.promote(NAME, "2", expect="1", reason="")
    promotion.promote(NAME, "3", expect="2", reason="")
    with sqlite3.connect(here / "mlruns/journal.db") as database:
        database.execute(tamper)
    for attempt in (
        lambda: promotion.read_history(NAME),
        lambda: promotion.roll_back(NAME, None, ""),
    ):
        with pytest.raises(JournalError):
            attempt()
    assert read_champion_alias() == "3"


@pytest.mark.parametrize("version", ["3", None])
def test_an_alias_changed_outside_plumbline_stops_everything(
    here: Path, version: str | None
) -> None:
    promotion.promote(NAME, "2", expect="1", reason="")
    if version:
        model_versions.connect_registry().set_registered_model_alias(
            NAME, addresses.CHAMPION, version
        )
    else:
        model_versions.connect_registry().delete_registered_model_alias(NAME, addresses.CHAMPION)
    attempts = [
        lambda: promotion.promote(NAME, "3", expect="2", reason=""),
        lambda: promotion.roll_back(NAME, None, ""),
        lambda: keep("e"),
        lambda: record_verdict("refuse", "", "b", "e", ""),
    ]
    for attempt in attempts:
        with pytest.raises(JournalError, match="changed outside plumbline"):
            attempt()
    assert read_champion_alias() == version


def move_alias(version: str) -> None:
    """Do what MLflow's UI and client do."""
    model_versions.connect_registry().set_registered_model_alias(NAME, "champion", version)


def read_remedy() -> list[str]:
    """The command that the error about the moved alias names."""
    with pytest.raises(JournalIntegrityError, match="changed outside plumbline") as found:
        promotion.read_history(NAME)
    command = re.search(r"`plumbline (promote .* --reason) WHY`", str(found.value))
    assert command is not None, found.value
    return [*shlex.split(command[1]), "better on refunds"]


def test_the_command_that_the_error_names_accepts_the_move_and_says_who(here: Path) -> None:
    move_alias("2")
    done = CliRunner().invoke(app, read_remedy())
    assert (done.exit_code, done.exception) == (0, None)
    entry = promotion.read_history(NAME)[-1]
    assert (entry.action, entry.previous, entry.version) == ("override", "1", "2")
    assert entry.reason == "better on refunds"
    assert "@" in entry.actor
    promotion.promote(NAME, "3", expect="2", reason="decisions go on")


def test_a_champion_whose_version_was_deleted_is_named_and_another_takes_its_place(
    here: Path,
) -> None:
    model_versions.connect_registry().delete_model_version(NAME, "1")  # and its alias with it
    found = find_fault("version 1, named in entry")
    assert not found.ok
    assert "does not exist, and is the champion" in found.message
    arguments = f"promote {NAME} VERSION --expect 1 --override --reason"
    assert f"restore it from a backup, or `plumbline {arguments} WHY`" in found.remedy
    assert read_remedy() == [*arguments.split(), "better on refunds"]
    entry = promotion.promote(NAME, "2", expect="1", reason="it is gone", override=True)
    assert (entry.previous, read_champion_alias()) == ("1", "2")
    assert "it is not served any more" in find_fault("version 1, named in entry").remedy


def find_fault(message: str) -> DiagnosticResult:
    """What doctor says of it."""
    (found,) = [result for result in check_registry(full=True) if message in result.message]
    return found


def kill_at(patch: pytest.MonkeyPatch, name: str) -> None:
    """Let the process end where `name` is called."""

    def end(*arguments: object) -> None:
        raise KeyboardInterrupt

    patch.setattr(name, end)


def test_a_registry_that_is_unreachable(undecided: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(RegistryError, match="cannot be read"):
        promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(JournalError, match="PLUMBLINE_JOURNAL_URI"):
        make_first_champion("2")


@pytest.mark.slow
def test_of_many_who_promote_at_once_one_wins(here: Path) -> None:
    race(rounds=choose_effort(25, 200))


def test_the_journal_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://db/mlflow")
    assert journal.find_journal_uri() == "postgresql://db/mlflow"
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", "postgresql://db/decisions")
    assert journal.find_journal_uri() == "postgresql://db/decisions"


@pytest.mark.parametrize("uri", ["sqlite:///", "sqlite:///:memory:", "mysql://db/it"])
def test_a_journal_that_keeps_nothing_is_refused(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", uri)
    with pytest.raises(JournalError, match="PLUMBLINE_JOURNAL_URI: expected one like postgresql"):
        journal.find_journal_uri()


def forge_version(version: str, verdict: str = "promote") -> None:
    """Do what somebody does who can write MLflow alone: new evidence for a version, and its tag."""
    path = evidence_file(version)
    evidence = json.loads(path.read_text())
    changes = {"verdict": verdict, "gates": describe_gates(verdict), "summary": "it is fine."}
    path.write_text(json.dumps(evidence | changes))
    client = model_versions.connect_registry()
    client.set_model_version_tag(NAME, version, addresses.EVIDENCE_TAG, digest_path(path))


def test_a_refused_model_that_was_rewritten_in_mlflow_is_not_promoted(here: Path) -> None:
    path = evidence_file(REFUSE)
    kept = path.read_bytes()
    forge_version(REFUSE)
    for override in (False, True):
        with pytest.raises(JournalError, match=r"version 5: its evidence is not that of journal"):
            promotion.promote(NAME, REFUSE, expect="1", reason="a test", override=override)
    path.write_bytes(kept)
    assert read_champion_alias() == "1"


def test_a_version_made_by_hand_in_mlflow_is_not_promoted(here: Path) -> None:
    client = model_versions.connect_registry()
    two = client.get_model_version(NAME, "2")
    number = str(
        client.create_model_version(
            NAME, two.source, two.run_id, two.tags, model_id=two.model_id
        ).version
    )
    for override in (False, True):
        with pytest.raises(JournalError, match="does not say that it was registered"):
            promotion.promote(NAME, number, expect="1", reason="a test", override=override)
    assert promotion.promote(NAME, "2", expect="1", reason="").version == "2"


def test_a_former_champion_that_was_exchanged_is_not_brought_back(here: Path) -> None:
    promotion.promote(NAME, "2", expect="1", reason="")
    client = model_versions.connect_registry()
    other = client.get_model_version(NAME, "3").tags[addresses.EVIDENCE_TAG]
    client.set_model_version_tag(NAME, "1", addresses.EVIDENCE_TAG, other)
    with pytest.raises(
        BundleError, match="its bundle or evidence is not the one that journal entry 7"
    ):
        promotion.roll_back(NAME, None, "")
    client.set_model_version_tag(NAME, "1", addresses.BUNDLE_TAG, "0" * 64)
    with pytest.raises(BundleError, match="bundle"):
        promotion.roll_back(NAME, None, "")
    assert read_champion_alias() == "2"


def test_git_is_a_witness_of_the_journal(here: Path) -> None:
    (here / "champion.json").write_text("{}")
    entry = promotion.promote(NAME, "2", expect="1", reason="")
    pin = champion_pin.read_pins()[NAME]
    entries = promotion.read_history(NAME)
    assert champion_pin.require_decision(NAME, pin, entries) == entry
    for entries_left, odd in (
        (entries[:-1], pin),
        (entries, replace(pin, version="3")),
        (entries, replace(pin, seal="0" * 64)),
    ):
        with pytest.raises(JournalError, match=r"champion\.json: .*--pin` writes it"):
            champion_pin.require_decision(NAME, odd, entries_left)


def move_to(version: str) -> None:
    """Promote a version or, if the champion is a later one, go back to it."""
    before = str(int(version) - 1)
    if read_champion_alias() == before:
        promotion.promote(NAME, version, expect=before, reason="")
    else:
        promotion.roll_back(NAME, version, "")


def test_a_crash_in_a_move_heals_in_registry_and_champion_json(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "champion.json").write_text("{}")
    for number, lost in (
        ("2", "mlflow.MlflowClient.set_registered_model_alias"),
        ("3", "plumbline.registry.champion_pin.write_pin"),
        ("2", "mlflow.MlflowClient.set_registered_model_tag"),
    ):
        with monkeypatch.context() as patch:
            kill_at(patch, lost)
            with pytest.raises(KeyboardInterrupt):
                move_to(number)
        entry = promotion.find_champion(NAME)
        assert entry.version == number
        assert champion_pin.read_pins()[NAME] == champion_pin.build_pin(entry)
        keep(lost)  # the next decision finishes the move
        assert read_champion_alias() == number
    move_alias("1")
    with pytest.raises(JournalError, match="changed outside plumbline"):
        promotion.read_history(NAME)  # what was finished is not undone in silence


def test_who_decides_is_not_taken_from_the_environment(
    undecided: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("USER", "LOGNAME", "GITHUB_ACTOR", "GITHUB_TRIGGERING_ACTOR"):
        monkeypatch.setenv(name, "ada")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    user = f"{pwd.getpwuid(os.getuid()).pw_name}@{socket.gethostname()}"
    keep("a")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_RUN_ID", "7")
    keep("b")
    actors = [entry.actor for entry in read_decisions()]
    assert actors == [user, f"{user} (says github:ada, run 7)"]
