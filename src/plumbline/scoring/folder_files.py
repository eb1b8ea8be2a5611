"""Score one file of a folder, once: what was done is recorded beside the answers."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.system_errors import explain_system_error
from plumbline.contract.task import Predictor
from plumbline.scoring.folders import FileFolder
from plumbline.scoring.request import ScoringRequest
from plumbline.scoring.scorer import Watch, score

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

FORMAT = 1  # raised when files that an earlier version of this code scored are not to be kept
RECORDS = "_scored"  # the folder of records in the output: no engine takes it for data
BEGUN: dict[str, Any] = {}  # the result in the record of a file that is being scored


@dataclass(frozen=True)
class FolderRequest:
    """A folder of files, and the folder for a file of answers to each."""

    input: str  # a path, or an address such as s3://bucket/folder
    output: str
    params: Mapping[str, Any]  # inference parameters
    columns: Sequence[str] = ()  # which answers are written; all if empty
    prefix: str = ""  # of the names of added columns
    keep_bad: bool = False  # write rows without an answer, with the reason, instead of stopping
    overwrite: bool = False

    def build_request(self, source: Path, target: Path) -> ScoringRequest:
        """Return the request for one file, whose output may be replaced."""
        return ScoringRequest(
            source, target, self.params, self.columns, self.prefix, self.keep_bad, overwrite=True
        )


@dataclass(frozen=True)
class ScoredFile:
    """What came of one file."""

    name: str
    num_rows: int = 0
    num_bad: int = 0
    error_column: str = ""  # in which the reason is written, where bad rows are kept
    sha256: str = ""  # of the answers
    input: Mapping[str, Any] | None = None  # what identifies the content that was scored
    output: Mapping[str, Any] | None = None  # what identifies the answers in their folder
    is_kept: bool = False  # an earlier run had scored it
    error: str = ""  # why there are no answers


def try_file(
    model: "CachedVersion", predictor: Predictor, request: FolderRequest, name: str, watch: Watch
) -> ScoredFile:
    """Score one file as `score_file`; what goes wrong with it is in the result."""
    try:
        return score_file(model, predictor, request, name, watch)
    except PlumblineError as error:
        return ScoredFile(name, error=str(error))
    except OSError as error:
        return ScoredFile(name, error=explain_system_error(error) or str(error))


def score_file(
    model: "CachedVersion", predictor: Predictor, request: FolderRequest, name: str, watch: Watch
) -> ScoredFile:
    """Score one file, unless an earlier run of the same request did so with the same content.

    Raises as `score` does, and ParamsError where other answers would be replaced.
    """
    source, target = FileFolder(request.input), FileFolder(request.output)
    record = f"{RECORDS}/{name}.json"
    run = _describe_run(model, request, source.identify(name))
    known = _read_record(target, record, run)
    if target.has_file(name):
        if known and known["output"] == target.identify(name):
            return ScoredFile(**known, is_kept=True)
        if known != BEGUN and not request.overwrite:
            raise ParamsError(
                f"{target.show(name)}: exists, and is not what this run writes (another version, "
                "other options, other content, or it was changed); add --overwrite to replace it"
            )
    target.write_json(record, {"run": run, "result": BEGUN})
    result = _score_once(model, predictor, request, name, watch)
    if source.identify(name) != run["input"]:
        raise DataError(f"{source.show(name)}: changed while it was read; run the command again")
    result = replace(result, input=run["input"], output=target.identify(name))
    known = asdict(result)
    del known["is_kept"]
    target.write_json(record, {"run": run, "result": known})
    return result


def _score_once(
    model: "CachedVersion", predictor: Predictor, request: FolderRequest, name: str, watch: Watch
) -> ScoredFile:
    source, target = FileFolder(request.input), FileFolder(request.output)
    with tempfile.TemporaryDirectory(prefix="plumbline-score-") as scratch:
        given, written = Path(scratch) / "given", Path(scratch) / "written"
        given.mkdir()
        written.mkdir()
        path = source.fetch(name, given)
        place = target.choose_place(name, written)
        try:
            done = score(
                model, request.build_request(path, place), watch, lambda _: None, predictor
            )
        except PlumblineError as error:
            text = str(error).replace(str(path), source.show(name))
            raise type(error)(text.replace(str(place), target.show(name))) from None
        digest = layout.digest(place)
        target.keep(name, place)
    return ScoredFile(name, done.num_rows, done.num_bad, done.error_column, digest)


def _describe_run(
    model: "CachedVersion", request: FolderRequest, identity: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all that the answers depend on."""
    return {
        "format": FORMAT,
        "input": dict(identity),
        "model": {"name": model.name, "version": model.version, "bundle": model.bundle},
        "params": dict(request.params),
        "columns": list(request.columns),
        "prefix": request.prefix,
        "keep_bad": request.keep_bad,
    }


def _read_record(target: FileFolder, record: str, run: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the recorded result of the same run, BEGUN if it was cut off; None without one."""
    match target.read_json(record):
        case {"run": dict() as known, "result": dict() as result} if known == run:
            return result
    return None
