"""Score all files of a folder, here or on Spark; the listing comes last, when all are there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.scoring.file_format import parse_format
from plumbline.scoring.folder_files import FolderRequest, ScoredFile, try_file
from plumbline.scoring.folders import FileFolder
from plumbline.scoring.scorer import Watch, load_model

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

LISTING = "_listing.json"
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
    an earlier run of the same request scored is not scored again. Raises ParamsError or DataError
    before anything is written, and DataError where files could not be scored, once all were tried.
    """
    source, target = FileFolder(request.input), FileFolder(request.output)
    names = _list_inputs(source)
    _check_output(source, target, names)
    target.delete(LISTING)
    scored = list(engine(model, request, names))
    _raise_errors(scored)
    target.write_json(LISTING, _build_listing(model, request, scored))
    return FolderSummary(
        num_files=len(scored),
        num_kept=sum(file.is_kept for file in scored),
        num_rows=sum(file.num_rows for file in scored),
        num_bad=sum(file.num_bad for file in scored),
        error_column=next((file.error_column for file in scored if file.num_bad), ""),
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
    names = source.list_names()
    if not names:
        raise DataError(f"{source.shown}: no such folder, or no file in it")
    for name in names:
        try:
            parse_format(Path(name))
        except ParamsError as error:
            raise ParamsError(
                f"{source.shown}/{error}; move it out of the folder, or begin its name with _"
            ) from None
    return names


def _check_output(source: FileFolder, target: FileFolder, names: Sequence[str]) -> None:
    """Refuse an output inside the input or around it, and one with answers to other files."""
    one, other = f"{source.address}/", f"{target.address}/"
    if one.startswith(other) or other.startswith(one):
        raise ParamsError(
            f"{target.shown}: is, holds or lies in the input {source.shown}; name another folder"
        )
    strange = sorted(set(target.list_names()) - set(names))
    if strange:
        raise ParamsError(
            f"{target.shown}: has {_list_some(strange)}, and {source.shown} has no file of such a "
            "name; remove it, or name another folder: a folder of answers has no others"
        )


def _raise_errors(scored: Sequence[ScoredFile]) -> None:
    failed = [file for file in scored if file.error]
    if not failed:
        return
    lines = [file.error for file in failed[:MAX_SHOWN]]
    if len(failed) > MAX_SHOWN:
        lines.append(f"and {len(failed) - MAX_SHOWN:,} more")
    message = (
        f"{len(failed):,} of {len(scored):,} files could not be scored; the others are kept: "
        "the same command continues"
    )
    raise DataError("\n  ".join([message, *lines]))


def _build_listing(
    model: "CachedVersion", request: FolderRequest, scored: Sequence[ScoredFile]
) -> dict[str, Any]:
    files = []
    for file in scored:
        facts = asdict(file)
        shown = ("name", "num_rows", "num_bad", "sha256", "input")
        files.append({name: facts[name] for name in shown})
    return {
        "model": {"name": model.name, "version": model.version, "bundle": model.bundle},
        "params": dict(request.params),
        "num_rows": sum(file.num_rows for file in scored),
        "num_bad": sum(file.num_bad for file in scored),
        "files": files,
    }


def _list_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more
