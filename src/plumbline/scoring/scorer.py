"""Score a file in the memory of a few batches."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.errors import DataError
from plumbline.contract.task import Predictor, Signature
from plumbline.process.files import write_aside
from plumbline.registry.reader.loading import ask_predictor, load_predictor
from plumbline.scoring.answers import answer_rows
from plumbline.scoring.request import ERROR, MODEL, PREFIX, ScoringRequest
from plumbline.tables.batches import Batch, Table
from plumbline.tables.formats import open_file, open_table
from plumbline.tables.writing import create_writer, find_output_kind

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

Columns = Mapping[str, Sequence[Any]]
# Gets the number of rows so far, and the share of the input that was read.
Watch = Callable[[int, float], None]


@dataclass(frozen=True)
class ScoringSummary:
    """The result of a run."""

    num_rows: int
    num_bad: int
    seconds: float
    error_column: str  # in which the reason is written, where bad rows are kept


def score(
    model: "CachedVersion",
    request: ScoringRequest,
    watch: Watch,
    say: Callable[[str], None],
    predictor: Predictor | None = None,
    last: int = 0,
) -> ScoringSummary:
    """Write the rows of the input with the model's answers to the output: all of it or nothing.

    `predictor` is the model's own, where it is loaded already. With `last`, rows before about so
    many last ones are left out. Raises ParamsError before anything is written, DataError for an
    input that is not valid or changes during the run, and OSError if the output cannot be written.
    """
    signature = bundle.read_signature(model.folder)
    source = bundle.read_source(model.folder)
    own = source.get("columns", {})
    path, output = Path(request.input), Path(request.output)
    wanted = [*own.values(), *request.inputs.values(), *(each.name for each in signature.inputs)]
    refuse_encoding = source.get("encoding") == "refuse"
    with open_file(path) as file:
        stamp = os.fstat(file.fileno())
        find_output_kind(output)
        request.check_output()
        table = open_table(file, str(path), wanted, refuse_encoding=refuse_encoding)
        request = _choose_prefix(request, table, signature, say)
        added = request.list_added_columns(signature)
        request.check_names(table.names, signature)
        columns = request.find_columns(table.names, signature, own)
        predictor = predictor or load_model(model)
        answer = _make_answerer(model, predictor, request, signature, columns)
        start = time.perf_counter()
        num_rows = num_bad = 0
        with write_aside(output) as aside:
            with create_writer(aside, output.name, table, added) as writer:
                for batch in _keep_last(table.read_batches(), last):
                    answers, num_without = answer(batch)
                    writer.write(batch, answers)
                    num_rows += batch.num_rows
                    num_bad += num_without
                    watch(num_rows, _measure_share(num_rows, table, file))
            _refuse_changed_input(path, stamp)
            request.check_output()
        for notice in table.describe():
            say(notice)
    return ScoringSummary(num_rows, num_bad, time.perf_counter() - start, request.prefix + ERROR)


def _keep_last(batches: Iterator[Batch], num_rows: int) -> Iterator[Batch]:
    """Yield the last batches, which have so many rows, or more; all of them for 0."""
    if not num_rows:
        yield from batches
    kept: deque[Batch] = deque()
    num_kept = 0
    for batch in batches:
        kept.append(batch)
        num_kept += batch.num_rows
        while num_kept - kept[0].num_rows >= num_rows:
            num_kept -= kept.popleft().num_rows
    yield from kept


def _choose_prefix(
    request: ScoringRequest, table: Table, signature: Signature, say: Callable[[str], None]
) -> ScoringRequest:
    """Rename the answers where the input has a column of such a name, and say so."""
    added = [each.name for each in request.list_added_columns(signature)]
    if request.prefix or not request.renames or not set(added).intersection(table.names):
        return request
    say(
        f"{request.input} has a column with the name of an answer; the names of answers begin "
        f"with {PREFIX} (choose another with --prefix)"
    )
    return replace(request, prefix=PREFIX)


def _measure_share(num_rows: int, table: Table, file: IO[bytes]) -> float:
    """Return the share of the input that was read."""
    if table.num_rows:
        return num_rows / table.num_rows
    return file.tell() / os.fstat(file.fileno()).st_size


def load_model(model: "CachedVersion") -> Predictor:
    """Load the predictor of a verified version; BundleError where its code fails."""
    return load_predictor(model.folder, model.bundle, name_version(model))


def name_version(model: "CachedVersion") -> str:
    """Return a version as messages name it."""
    return f"{model.name} version {model.version}"


def describe_model(model: "CachedVersion") -> dict[str, str]:
    """Return the version that answers, as records and listings have it."""
    return {"name": model.name, "version": model.version, "bundle": model.bundle}


def _make_answerer(
    model: "CachedVersion",
    predictor: Predictor,
    request: ScoringRequest,
    signature: Signature,
    columns: Mapping[str, str],
) -> Callable[[Batch], tuple[Columns, int]]:
    """Return what gives columns to be added to a batch, and how many rows have no answer."""
    inputs = tuple(each for each in signature.inputs if each.name in columns)
    given = replace(signature, inputs=inputs)
    ask = partial(ask_predictor, predictor, params=request.params, label=name_version(model))

    def answer(batch: Batch) -> tuple[Columns, int]:
        rows = {name: batch.get_column(column) for name, column in columns.items()}
        added, bad = answer_rows(ask, given, rows, request.keep_bad)
        if bad and not request.keep_bad:
            row = min(bad)
            raise DataError(
                f"{batch.locate_row(row)}: {bad[row]}; fix it, or add --bad-rows keep to "
                "write such rows without an answer"
            )
        added[MODEL] = [f"{model.name}/{model.version}"] * batch.num_rows
        added[ERROR] = [bad.get(row) for row in range(batch.num_rows)]
        return {request.prefix + name: values for name, values in added.items()}, len(bad)

    return answer


def _refuse_changed_input(path: Path, before: os.stat_result) -> None:
    after = path.stat()
    same = os.path.samestat(before, after) and before.st_size == after.st_size
    if not same or before.st_mtime_ns != after.st_mtime_ns:
        raise DataError(f"{path}: changed while it was read; run the same command again")
