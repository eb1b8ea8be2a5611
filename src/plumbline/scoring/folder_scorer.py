"""Score all files of a folder, here or on Spark; the listing comes last, when all are there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.errors import DataError, ParamsError
from plumbline.scoring.folder_files import LISTING, ScoredFile, try_file
from plumbline.scoring.folders import FileFolder
from plumbline.scoring.request import ERROR, ScoringRequest
from plumbline.scoring.scorer import Watch, describe_model, load_model
from plumbline.tables.writing import find_output_kind

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

MAX_SHOWN = 5  # files in a message

# Scores the files of these names; results are in their order.
Engine = Callable[["CachedVersion", ScoringRequest, Sequence[str]], Iterable[ScoredFile]]


@dataclass(frozen=True)
class FolderSummary:
    """The result of a run."""

    num_files: int
    num_kept: int  # of them scored by a run before
    num_rows: int
    num_bad: int
    error_column: str  # in which the reason is written, where bad rows are kept


def score_folder(model: "CachedVersion", request: ScoringRequest, engine: Engine) -> FolderSummary:
    """Write a file of answers for each file of the input, and then `_listing.json` beside them.

    The listing has name, rows and SHA-256 of each, and is the same whatever the engine. A file that
    an earlier run of the same request scored is not scored again. Raises ParamsError, DataError or
    BusyError before anything is written, and DataError where files could not be scored, once all
    were tried.
    """
    source, target = FileFolder(str(request.input)), FileFolder(str(request.output))
    names = _list_inputs(source)
    _check_output(source, target, names)
    request.list_added_columns(bundle.read_signature(model.folder))
    with target.hold():
        scored = list(engine(model, request, names))
        _raise_errors(scored)
        listing = _build_listing(model, request, scored)
        target.write_json(LISTING, listing)
    num_kept = sum(file.is_kept for file in scored)
    num_rows, num_bad = listing["num_rows"], listing["num_bad"]
    return FolderSummary(len(scored), num_kept, num_rows, num_bad, request.prefix + ERROR)


def make_local_engine(watch: Watch) -> Engine:
    """Return the engine that scores one file after another in this process.

    `watch` gets the rows of a file, and the share of all files.
    """

    def score_here(
        model: "CachedVersion", request: ScoringRequest, names: Sequence[str]
    ) -> Iterator[ScoredFile]:
        predictor = load_model(model)
        for number, name in enumerate(names):

            def watch_all(num_rows: int, share: float, before: int = number) -> None:
                watch(num_rows, (before + share) / len(names))

            yield try_file(model, predictor, request, name, watch_all)

    return score_here


def _list_inputs(source: FileFolder) -> list[str]:
    names = source.list_names()
    if not names:
        raise DataError(f"{source.shown}: no such folder, or no file in it")
    for name in names:
        if not name.isprintable():
            raise DataError(f"{source.show(name)!a}: a file name that is not UTF-8; rename it")
        try:
            find_output_kind(Path(name))
        except ParamsError as error:
            raise ParamsError(
                f"{source.shown}/{error}; move it out of the folder, or begin its name with _ "
                "(links to folders are not followed)"
            ) from None
    return names


def _check_output(source: FileFolder, target: FileFolder, names: Sequence[str]) -> None:
    """Refuse an output inside the input or around it, and one with answers to other files."""
    one, other = f"{source.address.rstrip('/')}/", f"{target.address.rstrip('/')}/"
    if one.startswith(other) or other.startswith(one):
        raise ParamsError(
            f"{target.address}: is, holds or lies in the input {source.address}; "
            "name another folder"
        )
    strange = sorted(set(target.list_names()) - set(names))
    if strange:
        raise ParamsError(
            f"{target.shown}: has {_list_some(strange)}, and {source.shown} has no file of such a "
            "name; remove it, or name another folder: a folder of answers has no others"
        )


def _raise_errors(scored: Sequence[ScoredFile]) -> None:
    failed = [file.error for file in scored if file.error]
    if not failed:
        return
    lines = list(dict.fromkeys(failed))[:MAX_SHOWN]
    message = (
        f"{len(failed):,} of {len(scored):,} files could not be scored; the others are kept: "
        "the same command continues"
    )
    raise DataError("\n  ".join([message, *lines]))


def _build_listing(
    model: "CachedVersion", request: ScoringRequest, scored: Sequence[ScoredFile]
) -> dict[str, Any]:
    return {
        "model": describe_model(model),
        "params": dict(request.params),
        "num_rows": sum(file.num_rows for file in scored),
        "num_bad": sum(file.num_bad for file in scored),
        "files": [
            {
                "name": file.name,
                "num_rows": file.num_rows,
                "num_bad": file.num_bad,
                "sha256": file.sha256,
                "input": file.run["input"],
            }
            for file in scored
        ],
    }


def _list_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more
