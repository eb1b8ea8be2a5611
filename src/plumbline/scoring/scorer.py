"""Score a file in the memory of a few batches, reading and writing while the model predicts."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.errors import DataError, PlumblineError
from plumbline.contract.task import Field, Predictor, Signature
from plumbline.registry.reader.loading import ask_predictor, load_predictor
from plumbline.scoring.answers import answer_rows
from plumbline.scoring.folders import identify_content
from plumbline.scoring.partial_output import PartialOutput
from plumbline.scoring.request import ERROR, MODEL, PREFIX, ScoringRequest
from plumbline.tables.batches import Batch
from plumbline.tables.formats import Table, open_file, open_table
from plumbline.tables.writing import TableWriter, create_writer, find_output_kind

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion

Columns = Mapping[str, Sequence[Any]]
# Returns the columns to be added, and the number of rows without an answer.
AnswerBatch = Callable[[Batch], tuple[Columns, int]]
# Gets the number of rows so far, and the share of the input that was read.
Watch = Callable[[int, float], None]


@dataclass(frozen=True)
class ScoringSummary:
    """The result of a run."""

    num_rows: int
    num_before: int  # of them written by an interrupted run before
    num_bad: int
    seconds: float  # for the rows of this run
    error_column: str  # in which the reason is written, where bad rows are kept


def score(
    model: "CachedVersion",
    request: ScoringRequest,
    watch: Watch,
    say: Callable[[str], None],
    predictor: Predictor | None = None,
) -> ScoringSummary:
    """Write the rows of the input with the model's answers to the output: all of it or nothing.

    `predictor` is the model's own, where it is loaded already. Raises ParamsError before anything
    is written, DataError for an input that is not valid or changes during the run, PlumblineError
    if the output cannot be written: then the rows so far are kept, and the next call resumes.
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
        run = _describe_run(model, request, added, columns)
        predictor = predictor or load_model(model)
        answer = _make_answerer(model, predictor, request, signature, columns)
        writer = create_writer(output, table, added)
        with _explain_write_errors(output), PartialOutput(output, run) as partial:
            start = time.perf_counter()
            num_before = partial.num_rows
            if partial.restart_reason:
                say(partial.restart_reason)
            elif num_before:
                say(f"resuming after row {num_before:,}")
            try:
                batches = _read_batches(table, file, num_before)
                _score_batches(batches, answer, writer, partial, watch)
                _refuse_changed_input(path, stamp)
                finished = writer.finish(partial.rows)
            except DataError:
                partial.drop()  # another input has other rows
                raise
            request.check_output()
            partial.publish(finished)
        for notice in table.describe():
            say(notice)
    seconds = time.perf_counter() - start
    return ScoringSummary(
        partial.num_rows, num_before, partial.num_bad, seconds, request.prefix + ERROR
    )


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


def _score_batches(
    batches: Iterator[tuple[Batch, float]],
    answer: AnswerBatch,
    writer: TableWriter,
    partial: PartialOutput,
    watch: Watch,
) -> None:
    """Append all rows of `batches`.

    While a batch is answered, the next one is read and the one before is written.
    """

    def append(batch: Batch, columns: Columns, num_bad: int) -> None:
        partial.append(writer.encode_batch(batch, columns), batch.num_rows, num_bad)

    if not partial.num_rows:
        partial.append(writer.encode_header(), 0, 0)
    with ThreadPoolExecutor(2) as pool:
        writing: Future[None] | None = None
        reading = pool.submit(next, batches, None)
        while (read := reading.result()) is not None:
            batch, share = read
            reading = pool.submit(next, batches, None)
            columns, num_bad = answer(batch)
            if writing:
                writing.result()
            writing = pool.submit(append, batch, columns, num_bad)
            watch(batch.first_row + batch.num_rows, share)
        if writing:
            writing.result()


def _read_batches(table: Table, file: IO[bytes], first_row: int) -> Iterator[tuple[Batch, float]]:
    """Yield what begins at `first_row`, with the share of the file that was read after it."""
    size = os.fstat(file.fileno()).st_size
    for batch in table.read_batches():
        num_read = batch.first_row + batch.num_rows
        share = num_read / table.num_rows if table.num_rows else file.tell() / size
        if batch.first_row >= first_row:
            yield batch, share


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
) -> AnswerBatch:
    """Return what answers a batch; `columns` are those of the file that hold the inputs."""
    label = name_version(model)
    inputs = tuple(each for each in signature.inputs if each.name in columns)
    given = replace(signature, inputs=inputs)

    def predict(columns: Columns) -> dict[str, list[Any]]:
        return ask_predictor(predictor, columns, request.params, label)

    def answer(batch: Batch) -> tuple[Columns, int]:
        rows = {name: batch.get_column(column) for name, column in columns.items()}
        added, bad = answer_rows(predict, given, rows, request.keep_bad)
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


def _describe_run(
    model: "CachedVersion",
    request: ScoringRequest,
    added: Sequence[Field],
    columns: Mapping[str, str],
) -> dict[str, Any]:
    """Return all that the output depends on: a run resumes only if this is the same."""
    return {
        "input": identify_content(Path(request.input)),
        "model": describe_model(model),
        "params": dict(request.params),
        "columns": [each.name for each in added],
        "inputs": dict(columns),
    }


def _refuse_changed_input(path: Path, before: os.stat_result) -> None:
    after = path.stat()
    same = os.path.samestat(before, after) and before.st_size == after.st_size
    if not same or before.st_mtime_ns != after.st_mtime_ns:
        raise DataError(f"{path}: changed while it was read; run the same command again")


@contextmanager
def _explain_write_errors(output: Path) -> Iterator[None]:
    """Convert OSError, such as a full disk, to an error that tells how to resume."""
    try:
        yield
    except OSError as error:
        raise PlumblineError(
            f"{output}: cannot be written ({error.strerror or error}); the rows so far are kept: "
            "fix the cause, and run the same command again"
        ) from None
