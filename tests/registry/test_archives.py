"""A registry that is carried to another machine is the same there, or is not unpacked at all."""

import io
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.serving.lines import Lines
from tests.support.serving.models import line_task
from tests.support.tracked_runs import log_run

from plumbline.contract.errors import RegistryError
from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.process.files import extract_file
from plumbline.registry import archives, local_files, promotion
from plumbline.registry.reader import find_version, open_version
from plumbline.registry.reader.verified_cache import VerifiedModelCache
from plumbline.tracking import mlflow_client

URI = "models:/line@champion"


@pytest.fixture(scope="module")
def own(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A registry of lines whose champion has changed once."""
    lines = Lines(tmp_path_factory.mktemp("own"))
    archive = lines.path / "registry.tar"
    with Lines(template).here():
        archives.pack(archive)
    with lines.here():
        archives.unpack(archive)
    lines.champion("2")
    return lines


@pytest.fixture
def packed(own: Lines, tmp_path: Path) -> Path:
    """That registry as a file."""
    with own.here():
        archives.pack(tmp_path / "registry.tar")
    return tmp_path / "registry.tar"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder on what might be another machine."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with Lines(folder).here():
        yield folder


def test_it_answers_remembers_and_goes_on_where_it_was_carried(
    packed: Path, own: Lines, elsewhere: Path
) -> None:
    (own.path / "mlruns").rename(own.path / "away")  # nothing is fetched from where it was
    try:
        carried(packed)
    finally:
        (own.path / "away").rename(own.path / "mlruns")


def test_a_copy_and_a_renamed_folder_have_their_own_files(own: Lines, tmp_path: Path) -> None:
    copy = Lines(tmp_path / "my copy")
    shutil.copytree(own.path, copy.path)
    with copy.here():  # the original is in reach
        client = mlflow_client.connect()
        experiment = mlflow_client.get_or_create_experiment(client, "line")
        run = client.create_run(experiment)
        assert run.info.artifact_uri.startswith(copy.path.as_uri())
        client.delete_run(run.info.run_id)
    renamed = Lines(copy.path.rename(tmp_path / "renamed"))
    with renamed.here():
        shutil.rmtree(renamed.path / "cache", ignore_errors=True)
        assert find_version(URI).package.startswith(renamed.path.as_uri())
        with open_version(URI, require_journal=True) as opened:
            assert opened.load_predictor().predict({"x": [1.0]}) == {"y": [4.0]}


def carried(packed: Path) -> None:
    assert archives.unpack(packed) > 10
    assert [entry.action for entry in promotion.read_history("line") if entry.moves] == [
        "first",
        "override",
    ]
    assert VerifiedModelCache(URI).fetch_latest().version == "2"
    with open_version(URI, require_journal=True) as opened:
        predictor = opened.load_predictor()
    assert predictor.predict({"x": [1.0]}) == {"y": [4.0]}
    assert promotion.roll_back("line", None, "").version == "1"
    assert find_version(URI).number == "1"
    found = {result.what: result.ok for result in check_registry(full=False)}
    assert found["journal"]
    assert found["registry"]
    assert "champion" not in found  # only a fault is named


def test_what_is_there_is_not_touched(packed: Path, own: Lines) -> None:
    with own.here(), pytest.raises(RegistryError, match=r"mlflow\.db is there already"):
        archives.unpack(packed)


def test_bundles_without_a_registry_are_not_touched(packed: Path, elsewhere: Path) -> None:
    newer = elsewhere / "mlruns/artifacts/models/newer/weights.json"
    newer.parent.mkdir(parents=True)
    newer.write_text("{}", encoding="utf-8")
    with pytest.raises(RegistryError, match=r"artifacts is there already; .* move it away first"):
        archives.unpack(packed)
    assert newer.read_text(encoding="utf-8") == "{}"


def test_a_lost_registry_comes_back_as_its_remedy_says(packed: Path, elsewhere: Path) -> None:
    archives.unpack(packed)
    (elsewhere / "mlruns/mlflow.db").unlink()
    with pytest.raises(RegistryError) as lost:
        local_files.require_local_models()
    assert "move mlflow.db, journal.db and artifacts away" in str(lost.value)
    (elsewhere / "mlruns").rename(elsewhere / "away")
    archives.unpack(packed)
    local_files.require_local_models()
    assert find_version(URI).number == "2"


def test_what_waits_for_mlflow_is_packed_too(own: Lines, tmp_path: Path, waited: None) -> None:
    with own.here(), pytest.MonkeyPatch.context() as patch:
        params, _ = line_task(patch)
        log_run(params, "evaluate")
        archives.pack(tmp_path / "registry.tar")
    with tarfile.open(tmp_path / "registry.tar") as archive:
        extract_file(archive, archive.getmember("mlflow.db"), tmp_path)
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as store:
        statuses = store.execute("SELECT status FROM runs WHERE name = 'evaluate'").fetchall()
    assert statuses == [("FINISHED",)]


def test_without_a_registry_there_is_nothing_to_pack(elsewhere: Path) -> None:
    with pytest.raises(RegistryError, match="there is no registry to pack"):
        archives.pack(elsewhere / "registry.tar")
    assert not (elsewhere / "registry.tar").exists()


Members = dict[str, tuple[tarfile.TarInfo, bytes]]


def added(members: Members) -> None:
    info = tarfile.TarInfo("more.py")
    members[info.name] = info, b""


def climbing(members: Members) -> None:
    info = tarfile.TarInfo("../climbed")
    members[info.name] = info, b""


def linked(members: Members) -> None:
    name = next(name for name in members if name.endswith("weights.json"))
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    members[name] = info, b""


def missing(members: Members) -> None:
    del members["mlflow.db"]


@pytest.mark.parametrize("damage", [added, climbing, linked, missing])
def test_a_file_that_was_changed_leaves_nothing(
    packed: Path, elsewhere: Path, damage: Callable[[Members], None]
) -> None:
    with tarfile.open(packed) as archive:
        members = {member.name: (member, archive.extractfile(member).read()) for member in archive}  # type: ignore[union-attr]
    damage(members)
    with tarfile.open(packed, "w") as archive:
        for info, raw in members.values():
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    refused(packed, elsewhere)


def test_a_file_cut_short_leaves_nothing(packed: Path, elsewhere: Path) -> None:
    packed.write_bytes(packed.read_bytes()[:-60_000])
    refused(packed, elsewhere)
    packed.write_bytes(b"")
    refused(packed, elsewhere)


def refused(archive: Path, elsewhere: Path, reason: str = "nothing was unpacked") -> None:
    with pytest.raises(RegistryError, match=reason):
        archives.unpack(archive)
    assert not list((elsewhere / "mlruns").glob("*"))
    assert not list(elsewhere.parent.rglob("climbed"))
