"""One champion at a time: compare and set, a journal that shows tampering, healed crashes."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from tests.support.racing import (
    NAME,
    add_version,
    find_in_mlflow,
    find_stored_bundle,
    race,
    read_champion_alias,
)

from plumbline.contract import layout
from plumbline.contract.errors import (
    BundleError,
    JournalError,
    ParamsError,
    PlumblineError,
    RefusedError,
    RegistryError,
)
from plumbline.contract.task import Predictor
from plumbline.registry import (
    champion_pin,
    journal,
    journal_head,
    ledger,
    model_versions,
    promotion,
)
from plumbline.registry.champion_pin import ChampionPin
from plumbline.registry.reader import addresses, find_version, open_version

KEEP, REFUSE, OTHER_BUNDLE = (
    "4",
    "5",
    "6",
)  # versions beside 1, 2 and 3, of which each may replace the one before
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # MLflow, in this process, warns about its own libraries


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
    return root


@pytest.fixture
def here(versions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder as the cwd, with no champion and an empty journal."""
    monkeypatch.chdir(versions)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = model_versions.connect_registry()
    client.delete_registered_model_alias(NAME, addresses.CHAMPION)
    client.delete_registered_model_tag(NAME, journal_head.HEAD_TAG)
    for name in ("mlruns/journal.db", "champion.json"):
        (versions / name).unlink(missing_ok=True)
    return versions


@contextmanager
def changed(path: Path, old: bytes, new: bytes) -> Iterator[None]:
    """A file in which `old` was replaced, for the length of a block."""
    kept = path.read_bytes()
    assert old in kept
    path.write_bytes(kept.replace(old, new))
    yield
    path.write_bytes(kept)


def evidence_file(version: str) -> Path:
    """Where the evidence of a version read_champion_alias, in its run."""
    client = model_versions.connect_registry()
    run = client.get_run(client.get_model_version(NAME, version).run_id)
    return Path(unquote(urlparse(run.info.artifact_uri).path)) / "evidence.json"


def load(address: str) -> tuple[Predictor, str]:
    """What `plumbline predict` answers with, and its version's number."""
    with open_version(address, "predict") as opened:
        return opened.load_predictor(), opened.registered.number


def test_first_promote_rollback(here: Path) -> None:
    assert promotion.bootstrap_champion(NAME, "1") is not None
    assert promotion.bootstrap_champion(NAME, "2") is None  # a cold start happens once
    promotion.promote(NAME, "2", expect="1", reason="better")
    promotion.promote(NAME, "3", expect="2", reason="better still")
    assert read_champion_alias() == "3"
    promotion.roll_back(NAME, None, "it was not")
    assert read_champion_alias() == "2"
    promotion.roll_back(NAME, "1", "further")
    assert read_champion_alias() == "1"
    entries = promotion.read_history(NAME)
    assert [(e.action, e.previous, e.version) for e in entries] == [
        ("first", "none", "1"),
        ("promote", "1", "2"),
        ("promote", "2", "3"),
        ("rollback", "3", "2"),
        ("rollback", "2", "1"),
    ]
    assert promotion.find_champion_as_of(NAME, entries[1].at).number >= 2  # type: ignore[union-attr]
    assert promotion.find_champion_as_of(NAME, "2001-01-01") is None


def test_a_promotion_on_old_knowledge_changes_nothing(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(RegistryError, match="the champion is 2, not 1"):
        promotion.promote(NAME, "3", expect="1", reason="")
    with pytest.raises(RegistryError, match="never was champion"):
        promotion.roll_back(NAME, "3", "")
    with pytest.raises(RegistryError, match="99"):
        promotion.promote(NAME, "99", expect="2", reason="")
    assert read_champion_alias() == "2"
    assert len(promotion.read_history(NAME)) == 2


def test_going_back_twice_goes_back_two_steps(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    promotion.promote(NAME, "3", expect="2", reason="")
    assert [promotion.roll_back(NAME, None, "").version for _ in range(2)] == ["2", "1"]
    with pytest.raises(RegistryError, match="no champion before 1"):
        promotion.roll_back(NAME, None, "")


def test_a_changed_package_is_not_promoted(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    weights = find_stored_bundle(f"models:/{NAME}/2") / "weights.json"
    with (
        changed(weights, b"2", b"9"),
        pytest.raises(BundleError, match="changed since the bundle was sealed"),
    ):
        promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"


def test_the_verdict_decides(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    for version, said in (
        (KEEP, r"the verdict is keep: it is not better\."),
        (REFUSE, "the verdict is refuse: floor"),
    ):
        with pytest.raises(RefusedError, match=said) as refused:
            promotion.promote(NAME, version, expect="1", reason="I want it")
        assert refused.value.exit_code == 20
    assert read_champion_alias() == "1"


def test_a_comparison_with_another_champion_proves_nothing(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    with pytest.raises(
        RegistryError, match="version 3 was compared with champion 2, the champion is 1"
    ) as refused:
        promotion.promote(NAME, "3", expect="1", reason="")
    assert f"`plumbline champion {NAME} --pin`, then `dvc repro`" in str(refused.value)
    assert read_champion_alias() == "1"


def test_what_made_a_version_champion_once_does_not_make_it_champion_again(here: Path) -> None:
    promotion.promote(NAME, "1", expect="none", reason="a first one")
    assert read_champion_alias() == "1"
    promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(
        RegistryError, match=r"version 1 was champion before; `plumbline rollback line --to 1`"
    ):
        promotion.promote(NAME, "1", expect="2", reason="")


def test_an_override_takes_a_reason_and_stands_in_the_journal(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    for reason in ("", " "):
        with pytest.raises(ParamsError, match="--reason"):
            promotion.promote(NAME, REFUSE, expect="1", reason=reason, override=True)
    promotion.promote(NAME, REFUSE, expect="1", reason="the old one leaks names", override=True)
    last = promotion.read_history(NAME)[-1]
    assert (last.action, last.previous, last.version) == ("override", "1", REFUSE)
    assert last.evidence == layout.digest(evidence_file(REFUSE))
    assert read_champion_alias() == REFUSE
    assert promotion.roll_back(NAME, None, "").version == "1"


def test_a_decision_on_a_bundle_is_on_no_other(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
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
    promotion.bootstrap_champion(NAME, "1")
    with journal.lock_journal() as book:
        book.append(journal.Decision(NAME, "return", "2", "", "", "", "3 failures in 40 requests"))
    with pytest.raises(
        RefusedError, match=r"returned as a canary on 20\d\d-.* \(3 failures in 40 requests\)"
    ):
        promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"
    assert (
        promotion.promote(NAME, "2", expect="1", reason="the disk was full", override=True).version
        == "2"
    )


@pytest.mark.parametrize("override", [False, True])
def test_changed_evidence_is_never_passed_over(here: Path, override: bool) -> None:
    promotion.bootstrap_champion(NAME, "1")
    path = evidence_file("2")
    with (
        changed(path, b"it is better", b"it is best"),
        pytest.raises(BundleError, match="version 2: its evidence was"),
    ):
        promotion.promote(NAME, "2", expect="1", reason="in a hurry", override=override)
    path.rename(path.with_suffix(".aside"))
    with pytest.raises(
        BundleError, match=r"evidence was changed since it was registered .* is missing"
    ):
        promotion.promote(NAME, "2", expect="1", reason="in a hurry", override=override)
    path.with_suffix(".aside").rename(path)
    with pytest.raises(BundleError, match="is about another bundle"):
        promotion.promote(NAME, OTHER_BUNDLE, expect="1", reason="in a hurry", override=override)
    assert read_champion_alias() == "1"


def test_the_first_champion_stands_on_its_evidence_too(here: Path) -> None:
    with (
        changed(evidence_file("1"), b"it is better", b"it is best"),
        pytest.raises(BundleError, match="evidence was"),
    ):
        promotion.bootstrap_champion(NAME, "1")
    with pytest.raises(BundleError, match="is about another bundle"):
        promotion.bootstrap_champion(NAME, OTHER_BUNDLE)
    assert read_champion_alias() is None
    assert promotion.read_history(NAME) == []


def test_a_champion_is_loaded_only_as_it_was_promoted(here: Path) -> None:
    champion = f"models:/{NAME}@champion"
    with pytest.raises(RegistryError, match="dvc repro"):
        load(champion)
    promotion.bootstrap_champion(NAME, "1")
    entry = promotion.promote(NAME, "2", expect="1", reason="")
    predictor, number = load(champion)
    assert (predictor.predict({"x": [1.0]}), number) == ({"y": [2.0]}, "2")
    assert load(f"models:/{NAME}/1")[0].predict({"x": [1.0]}) == {"y": [1.0]}
    with (
        changed(evidence_file("2"), b"it is better", b"it is best"),
        pytest.raises(BundleError, match="evidence was"),
    ):
        load(champion)
    client = model_versions.connect_registry()
    for tag, value in (
        (addresses.BUNDLE_TAG, entry.bundle),
        (addresses.EVIDENCE_TAG, entry.evidence),
    ):
        client.set_model_version_tag(NAME, "2", tag, "0" * 64)
        with pytest.raises(BundleError, match="not what journal entry 2 made champion"):
            load(champion)
        client.set_model_version_tag(NAME, "2", tag, value)
    client.set_registered_model_alias(NAME, addresses.CHAMPION, "3")
    with pytest.raises(JournalError, match="changed outside plumbline"):
        load(champion)


def test_decisions_are_named_in_champion_json_of_a_checkout_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promotion.bootstrap_champion(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    assert not (here / "champion.json").exists()  # this folder is no checkout
    with pytest.raises(PlumblineError, match="not a checkout"):
        promotion.pin_champion(NAME)
    layout.write_json(here / "champion.json", {"other": None})
    entry = promotion.promote(NAME, "3", expect="2", reason="")
    assert champion_pin.read_pins() == {"other": None, NAME: ChampionPin("3", entry.bundle)}
    entry = promotion.roll_back(NAME, None, "")
    assert champion_pin.read_pins()[NAME] == ChampionPin("2", entry.bundle)
    layout.write_json(here / "champion.json", {"other": {"version": "1", "bundle": "b"}})
    assert promotion.pin_champion(NAME) == ChampionPin("2", entry.bundle)
    assert promotion.pin_champion("nobody") is None
    assert json.loads((here / "champion.json").read_text()) == {
        "other": {"version": "1", "bundle": "b"},
        NAME: {"version": "2", "bundle": entry.bundle},
        "nobody": None,
    }


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"line": {"version": 3, "bundle": "b"}}', '{"line": {"version": "3"}}']
)
def test_a_damaged_champion_json_stops_a_decision_before_it_is_made(here: Path, text: str) -> None:
    promotion.bootstrap_champion(NAME, "1")
    (here / "champion.json").write_text(text)
    with pytest.raises(
        PlumblineError, match=r"champion\.json: damaged .*git checkout champion\.json"
    ):
        promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"
    assert len(promotion.read_history(NAME)) == 1


def test_notes_move_nothing_and_are_written_once(here: Path) -> None:
    refused = promotion.record_verdict(
        "new", "refuse", "", "b", "e", "floor failed"
    )  # a model that the registry does not know
    promotion.bootstrap_champion(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    kept = promotion.record_verdict(NAME, "keep", KEEP, "b", "e4", "not better")
    assert promotion.record_verdict(NAME, "keep", KEEP, "b", "e4", "asked again") == kept
    assert promotion.record_verdict(NAME, "keep", KEEP, "b", "e5", "").number == kept.number + 1
    assert promotion.record_verdict("new", "refuse", "", "b", "e", "") == refused
    assert promotion.find_champion(NAME).version == "2"  # type: ignore[union-attr]
    assert promotion.find_champion_as_of(NAME, None).action == "promote"  # type: ignore[union-attr]
    with pytest.raises(RegistryError, match="never was champion"):
        promotion.roll_back(NAME, KEEP, "")
    assert promotion.roll_back(NAME, None, "").version == "1"


def record_look(question: str, split: str = "split") -> ledger.Look:
    return ledger.record_look(NAME, question=question, split=split, plan="20 uses")


def test_every_question_asked_of_a_test_split_counts_once(here: Path) -> None:
    assert [record_look(question).number for question in "abacb"] == [1, 2, 1, 3, 2]
    other = record_look("c", split="another split")
    assert (other.number, other.first_plan) == (1, "20 uses")
    # the split is used up, whichever model asks
    third = ledger.record_look("other", question="c", split="split", plan="40 uses")
    assert (third.number, third.plan, third.first_plan) == (3, "40 uses", "20 uses")
    uses = [(use.question, use.split, use.plan) for use in ledger.read_uses(NAME)]
    assert uses == [
        ("a", "split", "20 uses"),
        ("b", "split", "20 uses"),
        ("c", "split", "20 uses"),
        ("c", "another split", "20 uses"),
    ]
    entry = promotion.read_history(NAME)[0]
    assert (entry.action, entry.bundle, entry.evidence, entry.reason) == (
        "look",
        "a",
        "split",
        "20 uses",
    )
    assert promotion.find_champion(NAME) is None
    with sqlite3.connect(here / "mlruns/journal.db") as database:
        database.execute(
            "DELETE FROM plumbline_journal WHERE number > 2"
        )  # to be allowed to look again
    with pytest.raises(JournalError, match="ends before entry 4"):
        record_look("d")


def test_a_champion_of_a_journal_that_lost_its_end_is_not_opened(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    record_look("a")
    assert find_version(f"models:/{NAME}@champion").number == "1"
    with sqlite3.connect(here / "mlruns/journal.db") as database:
        database.execute("DELETE FROM plumbline_journal WHERE number > 1")
    with pytest.raises(JournalError, match="ends before entry 2"):
        find_version(f"models:/{NAME}@champion")


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE plumbline_journal SET version = '3' WHERE number = 2",
        "UPDATE plumbline_journal SET reason = 'quite' WHERE number = 1",
        "DELETE FROM plumbline_journal WHERE number = 1",
        "DELETE FROM plumbline_journal WHERE number = 3",
        "DELETE FROM plumbline_journal",
        "UPDATE plumbline_journal SET number = number + 10 WHERE number = 2",
    ],
)
def test_tampering_shows_and_stops_everything(here: Path, tamper: str) -> None:
    promotion.bootstrap_champion(NAME, "1")
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


@pytest.mark.parametrize("version", ["3", "1", None])
def test_an_alias_changed_outside_plumbline_stops_everything(
    here: Path, version: str | None
) -> None:
    promotion.bootstrap_champion(NAME, "1")
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
        lambda: record_look("a"),
        lambda: promotion.record_verdict(NAME, "refuse", "", "b", "e", ""),
    ]
    for attempt in attempts:
        with pytest.raises(JournalError, match="changed outside plumbline"):
            attempt()
    assert read_champion_alias() == version


@pytest.mark.parametrize("lost", ["set_registered_model_alias", "set_registered_model_tag"])
def test_a_crash_between_journal_and_registry_heals(
    here: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    promotion.bootstrap_champion(NAME, "1")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"mlflow.MlflowClient.{lost}", killed)
        with pytest.raises(KeyboardInterrupt):
            promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == ("1" if "alias" in lost else "2")
    assert record_look("a").number == 1  # the next one that looks finishes the move
    assert read_champion_alias() == "2"
    assert promotion.read_history(NAME)[-1].action == "look"
    model_versions.connect_registry().set_registered_model_alias(NAME, addresses.CHAMPION, "1")
    with pytest.raises(
        JournalError, match="changed outside plumbline"
    ):  # what was finished is not undone in silence
        promotion.read_history(NAME)


def test_a_registry_that_is_unreachable(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(RegistryError, match="cannot be read"):
        promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(JournalError, match="PLUMBLINE_JOURNAL_URI"):
        promotion.bootstrap_champion(NAME, "2")


@pytest.mark.slow
def test_of_many_who_promote_at_once_one_wins(here: Path) -> None:
    promotion.bootstrap_champion(NAME, "1")
    race(rounds=200)


def test_the_journal_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://db/mlflow")
    assert journal.find_journal_uri() == "postgresql://db/mlflow"
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", "postgresql://db/decisions")
    assert journal.find_journal_uri() == "postgresql://db/decisions"
