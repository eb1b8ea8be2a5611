"""The winner is registered once, proven to answer alike first, and a refusal registers nothing."""

import dataclasses
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import mlflow
import pydantic
import pytest
from tests.support.evidence import describe_gates, leave_line, write_evidence
from tests.support.serving import models

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import (
    BundleError,
    EvidenceError,
    JournalError,
    ParamsError,
    RefusedError,
)
from plumbline.contract.params import Params, StrictModel
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence import document
from plumbline.evidence.verify import require_look
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.registry import journal, model_versions, promotion
from plumbline.registry.package import packaging
from plumbline.registry.reader import addresses, find_version
from plumbline.registry.reader.run_files import read_evidence
from plumbline.reporting import version_page
from plumbline.stages.register import register
from plumbline.tracking import delivery

JOURNAL = Path("mlruns/journal.db")
SECRET = "hunter2"  # noqa: S105  to look for it in what is kept
PARAMS = f"""# source: https://me:{SECRET}@files/old.csv
data:
  source:
    train: "postgresql://me:{SECRET}/x@db/tickets#TABLE t"   # today
    test: ftp://me:{SECRET}@files/test.csv
  sha256: {{"ftp://me:{SECRET}@files/test.csv": null, "https://files/x?key={SECRET}": null}}
"""
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # MLflow, in this process, warns about its own libraries


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as evaluate leaves it: a sealed winner, its golden rows, the evidence for it."""
    root = tmp_path_factory.mktemp("left")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        params, task = models.line_task(patch)
        leave_line(params, task)
    return root


@pytest.fixture
def evaluated(
    left: Path, line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> tuple[Params, Task]:
    """A copy of that folder as the cwd."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copytree(left, Path.cwd(), dirs_exist_ok=True)
    return line_task


def versions() -> list[object]:
    return list(model_versions.connect_registry().search_model_versions("name = 'line'"))


def test_repeated_it_is_one_version_and_one_decision(evaluated: tuple[Params, Task]) -> None:
    register(*evaluated)
    layout.REGISTRATION.unlink()  # as if it had been killed before the last line
    register(*evaluated)
    assert len(versions()) == 1
    assert read_json(layout.REGISTRATION)["version"] == "1"
    assert [(entry.action, entry.version) for entry in promotion.read_history("line")] == [
        ("registered", "1"),
        ("first", "1"),
    ]


def test_a_bundle_that_another_checkout_registers_meanwhile_is_one_version(
    evaluated: tuple[Params, Task],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    here = Path.cwd()
    other = shutil.copytree(here, tmp_path_factory.mktemp("other") / "checkout")
    log_model = packaging.log_model

    def register_meanwhile(*arguments: Any) -> Any:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(packaging, "log_model", log_model)
            elsewhere.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here}/mlruns/mlflow.db")
            elsewhere.chdir(other)
            register(*evaluated)
        return log_model(*arguments)

    monkeypatch.setattr(packaging, "log_model", register_meanwhile)
    register(*evaluated)
    assert [version.version for version in versions()] == [1]
    assert read_json(layout.REGISTRATION)["version"] == "1"
    registered = [e for e in promotion.read_history("line") if e.action == "registered"]
    assert [entry.version for entry in registered] == ["1"]


@pytest.mark.parametrize("is_compared_anew", [False, True])
def test_cut_off_between_registry_and_journal_it_is_one_version(
    evaluated: tuple[Params, Task], *, is_compared_anew: bool
) -> None:
    with refuse_entries(), pytest.raises(JournalError):
        register(*evaluated)
    assert [version.version for version in versions()] == [1]
    assert promotion.read_history("line") == []
    if is_compared_anew:
        write_evidence(*evaluated, "keep", champion={"version": "7", "bundle": "b"})
    register(*evaluated)
    assert [version.version for version in versions()] == [1]
    assert read_json(layout.REGISTRATION)["version"] == "1"
    decisions = [(entry.action, entry.version) for entry in promotion.read_history("line")]
    assert decisions[0] == ("registered", "1")
    verdict = "keep" if is_compared_anew else "promote"
    assert read_evidence(find_version("models:/line/1"))["verdict"] == verdict
    tags = mlflow.get_logged_model(version_page.find_model_id(versions()[0])).tags
    assert (tags["plumbline.model"], tags["plumbline.version"]) == ("line", "1")


@contextmanager
def refuse_entries() -> Iterator[None]:
    """Let the journal's database refuse new entries, as a disk that fails does."""
    with journal.lock_journal():
        pass  # the database is there now
    with closing(sqlite3.connect(JOURNAL)) as database, database:
        database.execute(
            "CREATE TRIGGER failing BEFORE INSERT ON plumbline_journal "
            "BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
    try:
        yield
    finally:
        with closing(sqlite3.connect(JOURNAL)) as database, database:
            database.execute("DROP TRIGGER failing")


def test_a_refusal_is_on_record_and_nothing_else(evaluated: tuple[Params, Task]) -> None:
    write_evidence(*evaluated, "refuse")
    for _ in range(2):  # said again, it is one refusal
        with pytest.raises(RefusedError, match="behaviour: rising: 0 of 1") as refused:
            register(*evaluated)
        assert refused.value.exit_code == 20
    assert read_json(layout.REGISTRATION) | {"evidence": ""} == {
        "model": "line", "version": None, "winner": "closed", "verdict": "refuse", "evidence": "",
    }  # fmt: skip
    assert versions() == []
    (entry,) = promotion.read_history("line")
    assert (entry.action, entry.evidence) == ("refuse", digest_path(layout.EVIDENCE))


def test_a_refusal_that_does_not_follow_is_not_on_record(evaluated: tuple[Params, Task]) -> None:
    """It would keep a good bundle from being promoted and served."""
    rewrite(verdict="refuse", gates=describe_gates("refuse"))
    with pytest.raises(EvidenceError, match=r"gate floor \(fail is recorded, pass follows\)"):
        register(*evaluated)
    assert not layout.REGISTRATION.exists()
    assert promotion.read_history("line") == []
    write_evidence(*evaluated)
    register(*evaluated)
    assert [entry.action for entry in promotion.read_history("line")] == ["registered", "first"]


def test_a_refusal_needs_no_journal_to_be_one(
    evaluated: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_evidence(*evaluated, "refuse")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(RefusedError, match=r"not on record everywhere: .*PLUMBLINE_JOURNAL_URI"):
        register(*evaluated)


def test_what_is_kept_out_is_a_version_without_alias(evaluated: tuple[Params, Task]) -> None:
    write_evidence(*evaluated, "keep")
    register(*evaluated)
    register(*evaluated)
    (version,) = versions()
    assert (str(version.version), version.aliases) == ("1", [])
    assert [(entry.action, entry.version) for entry in promotion.read_history("line")] == [
        ("registered", "1"),
        ("keep", "1"),
    ]


def test_a_version_that_is_compared_anew_gets_the_new_evidence(
    evaluated: tuple[Params, Task],
) -> None:
    write_evidence(*evaluated, "keep", champion={"version": "7", "bundle": "b"})
    register(*evaluated)
    write_evidence(*evaluated, "promote", champion=None)
    register(*evaluated)
    assert len(versions()) == 1
    assert read_evidence(find_version("models:/line/1"))["verdict"] == "promote"
    assert promotion.find_champion("line").version == "1"  # type: ignore[union-attr]

    write_evidence(*evaluated, "keep", champion={"version": "1", "bundle": "b"})  # against itself
    register(*evaluated)
    kept = read_evidence(find_version("models:/line/1"))
    assert kept["verdict"] == "promote"  # what made it champion


def test_what_is_refused_later_can_not_be_promoted_on_what_was_said_before(
    evaluated: tuple[Params, Task],
) -> None:
    params, task = evaluated
    once = params.model_copy(
        update={"registry": params.registry.model_copy(update={"first_champion": False})}
    )
    register(once, task)
    client = model_versions.connect_registry()
    assert model_versions.find_alias_holder(client, "line", addresses.CHALLENGER)
    write_evidence(*evaluated, "refuse")
    with pytest.raises(RefusedError):
        register(once, task)
    assert model_versions.find_alias_holder(client, "line", addresses.CHALLENGER) is None
    with pytest.raises(RefusedError, match="the verdict is refuse"):
        promotion.promote("line", "1", expect="none", reason="")


def test_what_a_stricter_limit_refused_is_registered_once_it_is_back(
    evaluated: tuple[Params, Task],
) -> None:
    """DVC brings the reports of before back, as nothing that they depend on differs."""
    register(*evaluated)
    shutil.copytree(layout.EVIDENCE.parent, "before")
    write_evidence(*evaluated, "refuse")
    with pytest.raises(RefusedError):
        register(*evaluated)
    shutil.copytree("before", layout.EVIDENCE.parent, dirs_exist_ok=True)
    register(*evaluated)
    assert read_json(layout.REGISTRATION)["version"] == "1"
    assert [entry.action for entry in promotion.read_history("line")[-2:]] == [
        "refuse",
        "registered",
    ]


def test_edited_evidence_registers_nothing(evaluated: tuple[Params, Task]) -> None:
    write_evidence(*evaluated, "refuse")
    evidence = read_json(layout.EVIDENCE)
    write_json(layout.EVIDENCE, evidence | {"verdict": "promote"})
    with pytest.raises(EvidenceError, match="was edited"):
        register(*evaluated)
    assert versions() == []


def rewrite(**changes: object) -> None:
    """Do what somebody does who can write the file: change it, and seal it again."""
    evidence = read_json(layout.EVIDENCE) | changes
    del evidence["seal"]
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))


def test_every_digest_is_required(evaluated: tuple[Params, Task]) -> None:
    evidence = read_json(layout.EVIDENCE)
    for missing in (*document.DIGESTED_FILES, "bundle"):
        digests = {key: value for key, value in evidence["digests"].items() if key != missing}
        rewrite(digests=digests)
        with pytest.raises(EvidenceError, match="is not what the evidence is about"):
            document.read_evidence(evaluated[0])


def test_evidence_of_another_model_is_no_evidence(evaluated: tuple[Params, Task]) -> None:
    params, _ = evaluated
    registry = params.registry.model_copy(update={"model": "other"})
    with pytest.raises(EvidenceError, match="is of the model"):
        document.read_evidence(params.model_copy(update={"registry": registry}))


def test_params_other_than_those_of_the_evaluation_register_nothing(
    evaluated: tuple[Params, Task],
) -> None:
    params, task = evaluated
    for section, key, value in (
        ("validation", "max_abs_x", 2.0),
        ("control", "max_rows", 100),
        ("evaluation", "floor", 0.0),
    ):
        changed = getattr(params, section).model_copy(update={key: value})
        other = params.model_copy(update={section: changed})
        with pytest.raises(EvidenceError, match=f"differs from .* in {section}.{key}"):
            register(other, task)
    assert versions() == []


def test_a_look_that_the_journal_does_not_have_registers_nothing(
    evaluated: tuple[Params, Task],
) -> None:
    data = read_json(layout.EVIDENCE)["data"]
    with pytest.raises(EvidenceError, match=r"does not have its look at the test split as look 2"):
        require_look({"data": data | {"look": data["look"] | {"number": 2}}})
    rewrite(data=data | {"look": data["look"] | {"question": "another one"}})
    with pytest.raises(EvidenceError, match=r"does not have its look at the test split as look 1"):
        register(*evaluated)
    assert versions() == []


def test_no_verdict_registers_nothing(evaluated: tuple[Params, Task]) -> None:
    write_json(layout.EVIDENCE, document.build_failure(*evaluated, "the champion cannot be loaded"))
    with pytest.raises(
        EvidenceError, match="no verdict was reached: the champion cannot be loaded"
    ):
        register(*evaluated)
    assert versions() == []


def test_a_bundle_that_changed_since_is_not_registered(evaluated: tuple[Params, Task]) -> None:
    (layout.locate_bundle("closed") / "weights.json").write_text(
        '{"slope": 9.0, "intercept": 1.0}', encoding="utf-8"
    )
    bundle.seal(layout.locate_bundle("closed"), evaluated[1], "closed")
    with pytest.raises(EvidenceError, match=r"bundle\.json is not what the evidence is about"):
        register(*evaluated)
    assert versions() == []


def test_a_bundle_with_a_predictor_of_its_own_is_not_registered(
    evaluated: tuple[Params, Task], tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    code = f"open({str(canary)!r}, 'w').close()\ndef load(folder, form=None): ...\n"
    (tmp_path / "foreign.py").write_text(code, encoding="utf-8")
    foreign = dataclasses.replace(evaluated[1], predictor=tmp_path / "foreign.py")
    bundle.seal(layout.locate_bundle("closed"), foreign, "closed")
    write_evidence(*evaluated)
    with pytest.raises(BundleError, match="predictor digest mismatch: expected"):
        register(*evaluated)
    assert versions() == []
    assert not canary.exists()


def test_a_key_that_cannot_be_used_registers_nothing_unsigned(
    evaluated: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_PRIVATE_KEY", "nowhere.pem")
    with pytest.raises(ParamsError, match=r"nowhere\.pem: not a valid private key"):
        register(*evaluated)
    assert versions() == []


class RemoteLine(StrictModel):
    """The data of the line, as if they came from servers."""

    watch: str
    num_rows: int
    noise: float
    source: dict[str, str]


def test_no_secret_of_a_source_is_beside_the_version(
    evaluated: tuple[Params, Task], caplog: pytest.LogCaptureFixture
) -> None:
    params, task = evaluated
    sources = {
        "train": f"postgresql://me:{SECRET}/x@db/tickets#TABLE t",
        "test": f"s3://{SECRET}:{SECRET}@bucket/test.csv",
    }
    values = params.model_dump()
    values["data"]["source"] = sources
    shape = pydantic.create_model("RemoteParams", __base__=type(params), data=(RemoteLine, ...))
    params = shape.model_validate(values)
    layout.PARAMS.write_text(PARAMS, encoding="utf-8")
    write_evidence(params, task)
    register(params, task)
    assert delivery.deliver().problem is None
    (version,) = versions()
    kept = mlflow.artifacts.download_artifacts(f"runs:/{version.run_id}/params.yaml")  # type: ignore[attr-defined]
    shown = load_yaml(Path(kept))["data"]
    assert shown["source"]["train"] == "postgresql://db/tickets#TABLE t"
    assert set(shown["sha256"]) == {"ftp://files/test.csv", "https://files/x"}
    recorded = read_evidence(find_version("models:/line/1"))["params"]["data"]["source"]
    assert recorded["test"] == "s3://bucket/test.csv"
    layout.PARAMS.unlink()  # git has it, and whoever reads git
    for path in Path.cwd().rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    assert SECRET not in caplog.text
