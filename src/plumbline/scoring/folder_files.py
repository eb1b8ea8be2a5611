"""Score one file of a folder, once: what was done is recorded beside the answers."""

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.task import Predictor
from plumbline.process.files import digest_path
from plumbline.process.system_errors import explain_system_error
from plumbline.scoring.folders import FileFolder
from plumbline.scoring.request import ScoringRequest
from plumbline.scoring.scorer import Watch, describe_model, score

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

LISTING = "_listing.json"  # of a complete folder of answers


@dataclass(frozen=True)
class ScoredFile:
    """What came of one file; it is its record too, for the next run."""

    name: str
    run: Mapping[str, Any] = field(default_factory=dict)  # all that the answers depend on
    num_rows: int = 0
    num_bad: int = 0
    sha256: str = ""  # of the answers
    output: Mapping[str, Any] | None = None  # what identifies the complete answers
    is_kept: bool = False  # an earlier run had scored it
    error: str = ""  # why there are no answers


def try_file(
    model: "CachedVersion", predictor: Predictor, request: ScoringRequest, name: str, watch: Watch
) -> ScoredFile:
    """Score one file, unless an earlier run of the same request did so with the same content.

    What goes wrong with it is in the result.
    """
    try:
        return _score_file(model, predictor, request, name, watch)
    except PlumblineError as error:
        return ScoredFile(name, error=str(error))
    except OSError as error:
        return ScoredFile(name, error=explain_system_error(error) or str(error))


def _score_file(
    model: "CachedVersion", predictor: Predictor, request: ScoringRequest, name: str, watch: Watch
) -> ScoredFile:
    """Score one file; ParamsError where other answers would be replaced.

    The record is there before the answers are, so that a run that continues knows these.
    """
    source, target = FileFolder(str(request.input)), FileFolder(str(request.output))
    run = _describe_run(model, request, source.identify(name))
    existing = target.identify(name)
    record = target.read_record(name)
    is_ours = record.get("run") == run
    if is_ours and existing and record["output"] == existing:
        return replace(ScoredFile(**record), is_kept=True)
    is_cut_off = is_ours and record["output"] is None
    if existing and not request.overwrite and not is_cut_off:
        raise ParamsError(
            f"{target.show(name)}: exists, and is not what this run writes (another version, "
            "other options, other content, or it was changed); add --overwrite to replace it"
        )
    target.delete(LISTING)
    own = ScoredFile(name, run)
    target.write_record(name, asdict(own))
    with tempfile.TemporaryDirectory(prefix="plumbline-score-") as scratch:
        path = source.fetch(name, Path(scratch, "given"))
        place = target.choose_place(name, Path(scratch, "written"))
        one = replace(request, input=path, output=place, overwrite=True, renames=False)
        try:
            done = score(model, one, watch, lambda _: None, predictor)
        except PlumblineError as error:
            text = str(error).replace(str(path), source.show(name))
            raise type(error)(text.replace(str(place), target.show(name))) from None
        own = replace(own, num_rows=done.num_rows, num_bad=done.num_bad, sha256=digest_path(place))
        target.keep(name, place)
    own = replace(own, output=target.identify(name))
    target.write_record(name, asdict(own))
    return own


def _describe_run(
    model: "CachedVersion", request: ScoringRequest, identity: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return all that the answers depend on."""
    options = asdict(request)
    for name in ("input", "output", "overwrite", "renames", "remedy"):
        del options[name]
    return {
        "input": identity,
        "model": describe_model(model),
        "options": options | {"columns": list(request.columns)},
    }
