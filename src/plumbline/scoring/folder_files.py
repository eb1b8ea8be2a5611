"""Score one file of a folder, once: what was done is recorded beside the answers."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.task import Predictor
from plumbline.process.files import digest_path
from plumbline.process.system_errors import explain_system_error
from plumbline.scoring.file_records import FileRecord, read_record, write_record
from plumbline.scoring.folders import FileFolder
from plumbline.scoring.request import ScoringRequest
from plumbline.scoring.scorer import Watch, describe_model, score

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

FORMAT = 1  # raised when files that an earlier version of this code scored are not to be kept
LISTING = "_listing.json"  # of a complete folder of answers


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
    inputs: Mapping[str, str] = field(default_factory=dict)  # as of one file

    def build_request(self, source: Path, target: Path) -> ScoringRequest:
        """Return the request for one file, whose output may be replaced.

        All files get the same columns: none gets a prefix of its own.
        """
        return ScoringRequest(
            source,
            target,
            self.params,
            self.columns,
            self.prefix,
            self.keep_bad,
            overwrite=True,
            renames=False,
            inputs=self.inputs,
        )


@dataclass(frozen=True)
class ScoredFile:
    """What came of one file."""

    name: str
    num_rows: int = 0
    num_bad: int = 0
    sha256: str = ""  # of the answers
    input: Mapping[str, Any] | None = None  # what identifies the content that was scored
    stamps: Sequence[Mapping[str, Any]] = ()  # of input and output, as they were scored or found
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
    stamp = source.stamp(name)
    run = _describe_run(model, request, source.identify(name))
    before = read_record(target, name)
    own = before if before and before.run == run else None
    existing = target.identify(name) if target.has_file(name) else None
    if own and own.output and own.output == existing:
        return _build_result(name, own, (stamp, target.stamp(name)), is_kept=True)
    if existing and not request.overwrite and not (own and _is_replaceable(own, existing, target)):
        raise ParamsError(
            f"{target.show(name)}: exists, and is not what this run writes (another version, "
            "other options, other content, or it was changed); add --overwrite to replace it"
        )
    target.delete(LISTING)
    begun = FileRecord(run, replaced=existing)
    write_record(target, name, begun)
    try:
        record = _score_once(model, predictor, request, name, watch, begun)
    except PlumblineError:
        if existing and before:
            write_record(target, name, before)  # what it is about is still there
        raise
    if source.stamp(name) != stamp:
        raise DataError(f"{source.show(name)}: changed while it was read; run the command again")
    return _build_result(name, record, (stamp, target.stamp(name)), is_kept=False)


def _is_replaceable(own: FileRecord, found: Mapping[str, Any], target: FileFolder) -> bool:
    """Whether a run that was cut off may replace what it finds.

    On this machine that is what it was to replace; in a store, what it may have written itself.
    """
    return own.replaced == found if target.local else own.output is None


def _score_once(
    model: "CachedVersion",
    predictor: Predictor,
    request: FolderRequest,
    name: str,
    watch: Watch,
    begun: FileRecord,
) -> FileRecord:
    """Score a file, and return its complete record.

    On this machine the answers are recorded before they get their name, so that a run that
    continues knows them.
    """
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
        record = replace(
            begun,
            num_rows=done.num_rows,
            num_bad=done.num_bad,
            sha256=digest_path(place),
            output=target.predict_identity(place),
        )
        write_record(target, name, record)
        target.keep(name, place)
    record = replace(record, output=target.identify(name))
    write_record(target, name, record)
    return record


def _build_result(
    name: str, record: FileRecord, stamps: Sequence[Mapping[str, Any]], *, is_kept: bool
) -> ScoredFile:
    return ScoredFile(
        name,
        record.num_rows,
        record.num_bad,
        record.sha256,
        record.run["input"],
        stamps,
        is_kept,
    )


def _describe_run(
    model: "CachedVersion", request: FolderRequest, identity: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all that the answers depend on."""
    options = asdict(request)
    for name in ("input", "output", "overwrite"):
        del options[name]
    return {
        "format": FORMAT,
        "input": dict(identity),
        "model": describe_model(model),
        "options": options | {"columns": list(request.columns)},
    }
