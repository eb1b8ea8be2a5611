"""Verified local copies: only what was registered, decided on and, if asked for, signed."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.racing import (
    NAME,
    add_version,
    find_in_mlflow,
    make_first_champion,
    record_registration,
    record_verdict,
)
from tests.support.signing_keys import write_keys

from plumbline import bundle
from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    JournalError,
    JournalIntegrityError,
    ParamsError,
    RefusedError,
    RegistryError,
)
from plumbline.process.files import digest_path
from plumbline.registry import journal, model_versions, promotion, signing
from plumbline.registry.journal import Decision
from plumbline.registry.reader import addresses, find_version, journal_check
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache

URI = f"models:/{NAME}@champion"


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry of three versions, the first of which is champion."""
    root = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        for slope in (1, 2, 3):
            add_version(root, slope)
        make_first_champion("1")
    shutil.copytree(root / "mlruns", root / "before")
    return root


@pytest.fixture
def here(registered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Its folder as the cwd, the cache empty; whatever is done to the registry is undone."""
    monkeypatch.chdir(registered)
    for key in ("MLFLOW_TRACKING_URI", "PLUMBLINE_JOURNAL_URI", "PLUMBLINE_PUBLIC_KEY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PLUMBLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(journal_check, "PAUSE_S", 0.01)
    yield registered
    shutil.rmtree(registered / "mlruns/artifacts")
    shutil.copytree(
        registered / "before", registered / "mlruns", dirs_exist_ok=True
    )  # databases stay the same files


def answers(copy: CachedVersion) -> float:
    found: float = bundle.load(copy.folder).predict({"x": [1.0]})["y"][0]
    return found


def stored(version: str, name: str = "bundle/weights.json") -> Path:
    """A file of a version's package in the registry's own store."""
    source = find_in_mlflow(f"models:/{NAME}/{version}").source
    return Path(
        "mlruns/artifacts/models", source.removeprefix("models:/"), "artifacts/artifacts", name
    )


def kept(mirror: VerifiedModelCache) -> CachedVersion:
    """What `latest` gives, as a server keeps it."""
    copy = mirror.fetch_latest()
    mirror.keep(copy)
    return copy


def sql(statement: str, database: str = "mlflow") -> None:
    connection = sqlite3.connect(f"mlruns/{database}.db")
    with connection:
        connection.execute(statement)
    connection.close()


def test_the_champion_is_fetched_and_followed(here: Path) -> None:
    mirror = VerifiedModelCache(URI)
    first = mirror.fetch_latest()
    assert mirror.find_kept() is None  # nobody has said yet that it answers well
    mirror.keep(first)
    assert (first.name, first.version, first.task, answers(first)) == (NAME, "1", "line", 1.0)
    assert json.loads(first.golden.read_text()) == {
        "inputs": {"x": [1.0]},
        "params": {},
        "outputs": {"y": [1]},
    }
    assert first.bundle == find_in_mlflow(URI).tags[addresses.BUNDLE_TAG]
    promotion.promote(NAME, "2", expect="1", reason="")
    assert answers(mirror.fetch_latest()) == 2.0
    assert answers(mirror.fetch_version("3")) == 3.0
    assert mirror.find_kept() == first  # the last that was kept, whatever else was fetched


def test_what_is_here_is_not_fetched_again(here: Path) -> None:
    copy = VerifiedModelCache(URI).fetch_latest()
    stored("1").unlink()
    assert VerifiedModelCache(URI).fetch_latest() == copy


def test_without_registry_the_last_copy_is_given(here: Path) -> None:
    copy = kept(VerifiedModelCache(URI))
    Path("mlruns").rename("away")
    with pytest.raises(RegistryError, match="cannot be read"):
        VerifiedModelCache(URI).fetch_latest()
    assert VerifiedModelCache(URI).fetch_latest_or_kept() == copy
    with pytest.raises(RegistryError, match="cannot be read"):
        VerifiedModelCache(f"models:/{NAME}@challenger").fetch_latest_or_kept()
    assert VerifiedModelCache(f"models:/{NAME}@challenger").find_kept() is None
    Path("away").rename("mlruns")


def test_an_alias_that_was_removed_is_not_unreachable(here: Path) -> None:
    kept(VerifiedModelCache(URI))
    model_versions.connect_registry().delete_registered_model_alias(NAME, "champion")
    with pytest.raises(AbsentVersionError, match="no version has the alias champion"):
        VerifiedModelCache(URI).fetch_latest_or_kept()


@pytest.mark.parametrize("what", ["weights.json", "golden.json", "pointer"])
def test_a_damaged_copy_is_not_given_and_fetched_again(
    here: Path, what: str, tmp_path: Path
) -> None:
    copy = kept(VerifiedModelCache(URI))
    path = (
        next(Path(tmp_path, "cache/latest").glob("*.json"))
        if what == "pointer"
        else copy.folder / what
    )
    path = copy.golden if what == "golden.json" else path
    path.chmod(0o600)
    path.write_text(path.read_text()[:-5])
    assert VerifiedModelCache(URI).find_kept() is None
    assert answers(kept(VerifiedModelCache(URI))) == 1.0
    assert VerifiedModelCache(URI).find_kept() == copy


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bundle/weights.json", "version 1/weights.json: changed"),
        ("bundle/predictor.py", "version 1/predictor.py: changed"),
        ("bundle/bundle.json", "version 1: bundle digest mismatch: expected"),
        ("golden.json", "version 1/golden.json: digest mismatch: expected"),
    ],
)
def test_what_was_changed_in_the_store_is_refused_and_leaves_nothing(
    here: Path, name: str, reason: str, tmp_path: Path
) -> None:
    path = stored("1", name)
    path.write_text(
        path.read_text().replace("1", "2").replace("def ", "open('canary', 'w')\ndef ", 1)
    )
    with pytest.raises(BundleError, match=reason):
        VerifiedModelCache(URI).fetch_latest()
    assert not list(Path(tmp_path, "cache/models").iterdir())
    assert VerifiedModelCache(URI).find_kept() is None
    assert not Path("canary").exists()


def test_what_is_missing_or_no_file_in_the_store_is_reported(here: Path) -> None:
    path = stored("1")
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(RegistryError, match=r"weights\.json: cannot be fetched \(No such file"):
        VerifiedModelCache(URI).fetch_latest()
    path.mkdir()
    with pytest.raises(RegistryError, match=r"weights\.json: cannot be fetched"):
        VerifiedModelCache(URI).fetch_latest()


def test_an_alias_that_was_changed_outside_plumbline_is_not_followed(here: Path) -> None:
    mirror = VerifiedModelCache(URI)
    kept(mirror)
    model_versions.connect_registry().set_registered_model_alias(NAME, "champion", "3")
    with pytest.raises(
        JournalError,
        match=r"says that version 3 is champion, the journal .* made version 1 champion",
    ):
        mirror.fetch_latest()
    found = mirror.find_kept()
    assert found.version == "1"


def test_a_champion_with_other_digests_than_those_decided_on_is_refused(here: Path) -> None:
    other = find_in_mlflow(f"models:/{NAME}/2").tags[addresses.BUNDLE_TAG]
    where = "key = 'plumbline.bundle' AND version = 1"
    sql(f"UPDATE model_version_tags SET value = '{other}' WHERE {where}")  # noqa: S608
    with pytest.raises(BundleError, match="not what journal entry 4 made champion"):
        VerifiedModelCache(URI).fetch_latest()
    with pytest.raises(BundleError, match="version 1: bundle digest mismatch: expected"):
        VerifiedModelCache(f"models:/{NAME}/1").fetch_latest()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE plumbline_journal SET bundle = '00'", "journal integrity check failed at entry 1"),
        ("DELETE FROM plumbline_journal", "the journal ends before entry"),
        ("DROP TABLE plumbline_journal", "no such table"),
    ],
)
def test_without_its_decision_there_is_no_champion(here: Path, statement: str, reason: str) -> None:
    kept(VerifiedModelCache(URI))
    sql(statement, "journal")
    with pytest.raises(JournalIntegrityError, match=reason):  # nor is the copy that was kept given
        VerifiedModelCache(URI).fetch_latest_or_kept()
    assert (
        answers(VerifiedModelCache(f"models:/{NAME}/1").fetch_latest()) == 1.0
    )  # who names a version asks for no decision


@pytest.mark.parametrize("content", [b"no database" * 1000, None])
def test_a_journal_that_was_damaged_or_removed_is_not_unreachable(
    here: Path, content: bytes | None
) -> None:
    kept(VerifiedModelCache(URI))
    journal = Path("mlruns/journal.db")
    journal.write_bytes(content) if content is not None else journal.unlink()
    with pytest.raises(JournalIntegrityError):
        VerifiedModelCache(URI).fetch_latest_or_kept()
    assert journal.exists() is (content is not None)


def test_what_the_journal_did_not_register_answers_no_request(here: Path) -> None:
    mirror = VerifiedModelCache(URI)
    client = model_versions.connect_registry()
    two = client.get_model_version(NAME, "2")
    made = client.create_model_version(
        NAME, two.source, two.run_id, two.tags, model_id=two.model_id
    )
    message = f"version {made.version}: the journal does not say that it was registered .* `dvc re"
    with pytest.raises(JournalError, match=message):
        mirror.fetch_version(made.version)
    client.set_model_version_tag(NAME, "2", addresses.EVIDENCE_TAG, "0" * 64)
    with pytest.raises(JournalError, match="version 2: the journal does not say"):
        mirror.fetch_version("2")
    assert answers(mirror.fetch_version("3")) == 3.0


def test_what_was_refused_or_returned_since_answers_no_request(here: Path) -> None:
    mirror = VerifiedModelCache(URI)
    digest = find_in_mlflow(f"models:/{NAME}/2").tags[addresses.BUNDLE_TAG]
    record_verdict("refuse", "", digest, "e", "leakage failed.")
    with pytest.raises(RefusedError, match="version 2: its bundle was refused since"):
        mirror.fetch_version("2")
    digest = find_in_mlflow(f"models:/{NAME}/3").tags[addresses.BUNDLE_TAG]
    with journal.lock_journal() as book:
        book.append(Decision(NAME, "return", "9", "", digest, "", "3 failures"))
    with pytest.raises(RefusedError, match=r"version 3 was returned, as version 9, as a canary"):
        mirror.fetch_version("3")


def test_a_decision_that_is_just_being_made_is_waited_for(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has it already, the alias moves a moment later."""
    promotion.promote(NAME, "2", expect="1", reason="")
    client = model_versions.connect_registry()
    client.set_registered_model_alias(NAME, "champion", "1")
    monkeypatch.setattr(
        journal_check.time,
        "sleep",
        lambda _: client.set_registered_model_alias(NAME, "champion", "2"),
    )
    assert VerifiedModelCache(URI).fetch_latest().version == "2"


@pytest.mark.parametrize("tag", [addresses.BUNDLE_TAG, addresses.GOLDEN_TAG])
@pytest.mark.parametrize("value", ["../../../etc"])
def test_a_tag_that_is_no_digest_names_no_folder(here: Path, tag: str, value: str) -> None:
    sql(f"UPDATE model_version_tags SET value = '{value}' WHERE key = '{tag}' AND version = 2")  # noqa: S608
    with pytest.raises(BundleError, match=f"version 2: its tag {tag} is '{value}', not a SHA-256"):
        VerifiedModelCache(f"models:/{NAME}/2").fetch_latest()


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd", "runs:/0/model", "models:/../etc@champion", "models:/-rf/1", "",
        "models:/line/1\n", "models:/line/01", "models:/line", "models:/\u202eline/1",
    ],
)  # fmt: skip
def test_addresses_that_name_no_registered_model(uri: str, here: Path) -> None:
    with pytest.raises(ParamsError, match="models:/NAME@ALIAS") as refused:
        VerifiedModelCache(uri)
    assert len(str(refused.value)) < 500
    with pytest.raises(ParamsError, match="models:/NAME@ALIAS"):
        find_version(uri)


def test_the_cache_is_this_users_alone(here: Path, tmp_path: Path) -> None:
    os.umask(old := os.umask(0))
    try:
        os.umask(0)
        copy = VerifiedModelCache(URI).fetch_latest()
    finally:
        os.umask(old)
    assert copy.folder.exists()
    assert stat.S_IMODE((tmp_path / "cache/models").stat().st_mode) == 0o700


def test_a_cache_that_cannot_be_written_is_reported(here: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryError, match="set PLUMBLINE_CACHE"):
        VerifiedModelCache(URI, tmp_path / "file").fetch_latest()


def test_only_copies_that_nobody_needs_are_removed(here: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        copy = kept(VerifiedModelCache(f"models:/{NAME}/{number}"))
    copies, pointers = Path(tmp_path, "cache/models"), Path(tmp_path, "cache/latest")
    for left in (3, 1):
        (copies / ".fetch-cut-off").mkdir()
        for path in copies.iterdir():
            os.utime(path, (0, 0))  # nobody used it since
        shutil.rmtree(copy.folder.parent)
        VerifiedModelCache(f"models:/{NAME}/3").fetch_latest()
        assert len(list(copies.iterdir())) == left  # records name them all, then none
        for path in pointers.iterdir():
            path.unlink()


@pytest.mark.slow
def test_many_processes_that_fetch_at_once_get_the_same(here: Path, tmp_path: Path) -> None:
    code = (
        "from plumbline.registry.reader.verified_cache import VerifiedModelCache\n"
        f"print(VerifiedModelCache({URI!r}).fetch_latest())"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    said = [process.communicate(timeout=600)[0].strip() for process in started]
    assert set(said) == {str(VerifiedModelCache(URI).fetch_latest())}
    assert [path.name[:6] for path in (tmp_path / "cache/models").iterdir()] == [
        VerifiedModelCache(URI).fetch_latest().bundle[:6]
    ]


WITHOUT = """
import sys
for name in ("mlflow", "torch", "transformers", "pandas"):
    sys.modules[name] = None
from plumbline import bundle
from plumbline.registry.reader import open_version
from plumbline.registry.reader.verified_cache import VerifiedModelCache
copy = VerifiedModelCache(sys.argv[1]).fetch_latest()
print(bundle.load(copy.folder).predict({"x": [1.0]}))
print(bundle.read_signature(copy.folder).inputs[0].name)
with open_version(sys.argv[1], require_journal=True) as version:
    print(version.load_predictor().predict({"x": [1.0]}))
"""


def test_it_needs_none_of_the_libraries_of_training(here: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", WITHOUT, URI]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{'y': [1.0]}\nx\n{'y': [1.0]}\n", "")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs of keys: ours and another's."""
    return write_keys(tmp_path_factory.mktemp("keys"))


def test_only_what_was_signed_by_the_key_is_given(
    here: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        BundleError, match=r"version 1: is not signed, and only what .*ours\.pub signed"
    ):
        VerifiedModelCache(URI, public_key=keys / "ours.pub").fetch_latest()
    assert (
        signing.sign(NAME, "1", keys / "other.pem") == VerifiedModelCache(URI).fetch_latest().bundle
    )
    with pytest.raises(BundleError, match=r"version 1: has no valid signature by .*ours\.pub"):
        VerifiedModelCache(URI, public_key=keys / "ours.pub").fetch_latest()
    signing.sign(NAME, "1", keys / "ours.pem")
    monkeypatch.setenv("PLUMBLINE_PUBLIC_KEY", str(keys / "ours.pub"))
    copy = kept(VerifiedModelCache(URI))
    assert VerifiedModelCache(URI).find_kept() == copy
    with pytest.raises(BundleError, match="version 2: is not signed"):
        VerifiedModelCache(URI).fetch_version("2")
    assert VerifiedModelCache(URI, public_key=keys / "other.pub").find_kept() is None


def test_a_signature_that_is_withdrawn_is_noticed(here: Path, keys: Path) -> None:
    signing.sign(NAME, "1", keys / "ours.pem")
    mirror = VerifiedModelCache(URI, public_key=keys / "ours.pub")
    kept(mirror)
    Path("mlruns/artifacts", find_in_mlflow(URI).run_id, "artifacts/bundle.sig").unlink()
    with pytest.raises(BundleError, match="version 1: is not signed"):
        mirror.fetch_latest()
    assert mirror.find_kept() is None  # nor is it used while the registry is unreachable


def test_a_signature_of_another_bundle_is_none(here: Path, keys: Path) -> None:
    signing.sign(NAME, "2", keys / "ours.pem")
    runs = [find_in_mlflow(f"models:/{NAME}/{number}").run_id for number in (1, 2)]
    one, two = (Path("mlruns/artifacts", run, "artifacts/bundle.sig") for run in runs)
    shutil.copy(two, one)
    with pytest.raises(BundleError, match="version 1: has no valid signature"):
        VerifiedModelCache(URI, public_key=keys / "ours.pub").fetch_latest()
    for content in ("", "{", "{}", "[]", '{"verificationMaterial": {}}'):
        one.write_text(content)
        with pytest.raises(BundleError, match="version 1: has no valid signature"):
            VerifiedModelCache(URI, public_key=keys / "ours.pub").fetch_latest()


def test_keys_that_are_none_are_reported(here: Path, keys: Path, tmp_path: Path) -> None:
    for key in (tmp_path / "nothing.pem", keys / "ours.pub"):
        with pytest.raises(ParamsError, match=f"{key}: not a valid private key"):
            signing.sign(NAME, "1", key)
    signing.sign(NAME, "1", keys / "ours.pem")
    for key in (tmp_path / "nothing.pub", keys / "ours.pem"):
        with pytest.raises(ParamsError, match=f"{key}: not a valid public key"):
            VerifiedModelCache(URI, public_key=key).fetch_latest()


def test_changed_files_are_not_signed(here: Path, keys: Path) -> None:
    stored("1").write_text('{"slope": 666, "intercept": 0}')
    with pytest.raises(BundleError, match=r"weights\.json: changed"):
        signing.sign(NAME, "1", keys / "ours.pem")
    seal = stored("1", "bundle/bundle.json")
    told = json.loads(seal.read_text())
    told["files"]["weights.json"] = digest_path(stored("1"))
    seal.write_text(json.dumps(told))
    with pytest.raises(
        BundleError, match=r"version 1: bundle digest mismatch: expected .*do not use it"
    ):
        signing.sign(NAME, "1", keys / "ours.pem")


def exchange_golden(version: str) -> None:
    """Exchange golden.json in the store and its tag, as who can write to MLflow."""
    path = stored(version, "golden.json")
    path.write_text(path.read_text().replace(version, "9"))
    value = digest_path(path)
    where = f"key = '{addresses.GOLDEN_TAG}' AND version = {version}"
    sql(f"UPDATE model_version_tags SET value = '{value}' WHERE {where}")  # noqa: S608


def test_golden_rows_that_were_exchanged_with_their_tag_are_refused(here: Path) -> None:
    mirror = VerifiedModelCache(URI)
    exchange_golden("1")
    exchange_golden("2")
    for load in (
        mirror.fetch_latest,
        lambda: mirror.fetch_version("2"),
        lambda: promotion.promote(NAME, "2", expect="1", reason=""),
    ):
        with pytest.raises(BundleError, match="its evidence is about other golden rows"):
            load()


def test_a_signed_version_is_not_used_under_the_name_of_another_model(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = write_keys(tmp_path)
    signing.sign(NAME, "1", keys / "ours.pem")
    monkeypatch.setenv("PLUMBLINE_PUBLIC_KEY", str(keys / "ours.pub"))
    client = model_versions.connect_registry()
    one = client.get_model_version(NAME, "1")
    model_versions.ensure_model(client, "other")
    client.create_model_version("other", one.source, one.run_id, one.tags, model_id=one.model_id)
    tags = (one.tags[addresses.BUNDLE_TAG], one.tags[addresses.EVIDENCE_TAG])
    record_registration("1", *tags, name="other")
    for use in (
        VerifiedModelCache("models:/other/1").fetch_latest,
        lambda: promotion.promote("other", "1", expect="none", reason=""),
    ):
        with pytest.raises(BundleError, match="its evidence is about another model"):
            use()
    assert answers(VerifiedModelCache(URI).fetch_latest()) == 1.0
