"""Score all files of a folder, here or on Spark; the listing comes last, when all are there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.errors import DataError, ParamsError
from plumbline.scoring.folder_files import (
    LISTING,
    FolderRequest,
    ScoredFile,
    try_file,
)
from plumbline.scoring.folders import FileFolder
from plumbline.scoring.request import ERROR
from plumbline.scoring.scorer import Watch, describe_model, load_model
from plumbline.tables.writing import find_output_kind

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

MAX_SHOWN = 5  # files in a message

# Scores the files of these names; results are in their order.
Engine = Callable[["CachedVersion", FolderRequest, Sequence[str]], Iterable[ScoredFile]]


@dataclass(frozen=True)
class FolderSummary:
    """The result of a run."""

    num_files: int
    num_kept: int  # of them scored by a run before
    num_rows: int
    num_bad: int
    error_column: str  # in which the reason is written, where bad rows are kept


def score_folder(model: "CachedVersion", request: FolderRequest, engine: Engine) -> FolderSummary:
    """Write a file of answers for each file of the input, and then `_listing.json` beside them.

    The listing has name, rows and SHA-256 of each, and is the same whatever the engine. A file that
    an earlier run of the same request scored is not scored again. Raises ParamsError, DataError or
    BusyError before anything is written, and DataError where files could not be scored, once all
    were tried, or where input or output changed meanwhile.
    """
    source, target = FileFolder(request.input), FileFolder(request.output)
    names = _list_inputs(source)
    _check_output(source, target, names)
    request.build_request(Path(), Path()).list_added_columns(bundle.read_signature(model.folder))
    with target.hold():
        scored = list(engine(model, request, names))
        _raise_errors(scored)
        _require_unchanged(source, target, scored)
        target.write_json(LISTING, _build_listing(model, request, scored))
    num_bad = sum(file.num_bad for file in scored)
    return FolderSummary(
        num_files=len(scored),
        num_kept=sum(file.is_kept for file in scored),
        num_rows=sum(file.num_rows for file in scored),
        num_bad=num_bad,
        error_column=request.prefix + ERROR if num_bad else "",
    )


def make_local_engine(watch: Watch) -> Engine:
    """Return the engine that scores one file after another in this process."""

    def score_here(
        model: "CachedVersion", request: FolderRequest, names: Sequence[str]
    ) -> Iterator[ScoredFile]:
        predictor = load_model(model)
        num_rows = 0
        for number, name in enumerate(names):
            watch_file = _add_files_before(watch, num_rows, number, len(names))
            file = try_file(model, predictor, request, name, watch_file)
            num_rows += file.num_rows
            yield file

    return score_here


def _add_files_before(watch: Watch, num_rows: int, num_before: int, num_files: int) -> Watch:
    """Return a watch of one file that counts the files before it too."""

    def watch_file(rows: int, share: float) -> None:
        watch(num_rows + rows, (num_before + share) / num_files)

    return watch_file


def _list_inputs(source: FileFolder) -> list[str]:
    names = source.list_names(with_empty=False)
    if not names:
        raise DataError(f"{source.shown}: no such folder, or no file in it")
    for name in names:
        if not _is_utf8(name):
            raise DataError(f"{source.show(name)!a}: a file name that is not UTF-8; rename it")
        try:
            find_output_kind(Path(name))
        except ParamsError as error:
            raise ParamsError(
                f"{source.shown}/{error}; move it out of the folder, or begin its name with _ "
                "(links to folders are not followed)"
            ) from None
    return names


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    lines = list(dict.fromkeys(failed))
    if len(lines) > MAX_SHOWN:
        lines[MAX_SHOWN:] = [f"and {len(lines) - MAX_SHOWN:,} other errors"]
    message = (
        f"{len(failed):,} of {len(scored):,} files could not be scored; the others are kept: "
        "the same command continues"
    )
    raise DataError("\n  ".join([message, *lines]))


def _require_unchanged(
    source: FileFolder, target: FileFolder, scored: Sequence[ScoredFile]
) -> None:
    """Raise DataError where files were added, removed or changed since they were scored."""
    names = [file.name for file in scored]
    for folder, number in ((source, 0), (target, 1)):
        present = set(folder.list_names(with_empty=folder is target))
        changed = sorted(present.symmetric_difference(names))
        for file in scored:
            if file.name in present and folder.stamp(file.name) != file.stamps[number]:
                changed.append(file.name)
        if changed:
            raise DataError(
                f"{folder.shown}: {_list_some(changed)}: added, removed or changed during the run; "
                "run the same command again"
            )


def _build_listing(
    model: "CachedVersion", request: FolderRequest, scored: Sequence[ScoredFile]
) -> dict[str, Any]:
    files = []
    for file in scored:
        facts = asdict(file)
        shown = ("name", "num_rows", "num_bad", "sha256", "input")
        files.append({name: facts[name] for name in shown})
    return {
        "model": describe_model(model),
        "params": dict(request.params),
        "num_rows": sum(file.num_rows for file in scored),
        "num_bad": sum(file.num_bad for file in scored),
        "files": files,
    }


def _list_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more
