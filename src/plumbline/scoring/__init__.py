"""Scoring a file of any size in the memory of a few chunks: read, ask and write at once, and go on after a crash."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, PlumblineError
from plumbline.contract.task import Field, Signature
from plumbline.scoring.answers import answer
from plumbline.scoring.chunks import Chunk, Sink, Source
from plumbline.scoring.files import opened, sink_for
from plumbline.scoring.parts import Parts
from plumbline.scoring.request import ERROR, MODEL, Request

if TYPE_CHECKING:
    from plumbline.registry.reader.mirror import Copy

__all__ = ["Done", "Request", "score"]

Columns = Mapping[str, Sequence[Any]]
Ask = Callable[
    [Chunk], tuple[Columns, int]
]  # the columns to be added, and how many rows have no answer
Watch = Callable[
    [int, float], None
]  # told how many rows are answered, and which share of the input they are


@dataclass(frozen=True)
class Done:
    """How it went; `num_before` rows were there from a run that was cut short, `seconds` went into the others."""

    num_rows: int
    num_before: int
    num_bad: int
    seconds: float


def score(model: "Copy", request: Request, watch: Watch, say: Callable[[str], None]) -> Done:
    """Write the rows of the input with the model's answers to the output, which appears whole or not at all.

    Raises ParamsError before anything is written, DataError for an input that is broken or changes meanwhile,
    PlumblineError where the output cannot be written: what was done until then is kept, and the next call goes on.
    """
    request.check()
    signature = bundle.signature(model.folder)
    added = request.added(signature)
    stamp, run = _stamp(request.input), _run(model, request, added)
    with closing(opened(request.input, request.output, added)) as source:
        request.check_names(source.names, signature)
        there = tuple(
            field for field in signature.inputs if field.required or field.name in source.names
        )
        ask = _ask(model, request, replace(signature, inputs=there))
        sink = sink_for(request.input, request.output, source, added)
        with _explained(request.output), Parts(request.output, run) as parts:
            start, num_before = time.perf_counter(), parts.num_rows
            if parts.outdated or num_before:
                say(parts.outdated or f"going on after row {num_before:,}")
            try:
                _work(source, ask, sink, parts, watch)
                _refuse_change(request.input, stamp)
                done = sink.finish(parts.rows)
            except DataError:
                parts.drop()  # another input makes other rows
                raise
            request.check_output()
            parts.publish(done)
    return Done(parts.num_rows, num_before, parts.num_bad, time.perf_counter() - start)


def _work(source: Source, ask: Ask, sink: Sink, parts: Parts, watch: Watch) -> None:
    """Append all rows that are not there yet: while a chunk is asked, the next is read, the one before written."""
    num_before = parts.num_rows
    chunks = (chunk for chunk in source.chunks() if chunk.first >= num_before)
    with ThreadPoolExecutor(2) as pool:
        behind = None if num_before else pool.submit(parts.append, sink.header(), 0, 0)
        ahead = pool.submit(next, chunks, None)
        while (chunk := ahead.result()) is not None:
            ahead = pool.submit(next, chunks, None)
            columns, num_bad = ask(chunk)
            _wait(behind)
            behind = pool.submit(_append, parts, sink, chunk, columns, num_bad)
            watch(chunk.first + chunk.num_rows, chunk.share)
        _wait(behind)


def _append(parts: Parts, sink: Sink, chunk: Chunk, columns: Columns, num_bad: int) -> None:
    try:
        data = sink.encoded(chunk, columns)
    except UnicodeEncodeError:
        where = f"{chunk.place(0)}, or soon after"
        raise DataError(
            f"{where}: half of a character (a lone surrogate), which only .jsonl can hold"
        ) from None
    parts.append(data, chunk.num_rows, num_bad)


def _wait(behind: Future[None] | None) -> None:
    if behind is not None:
        behind.result()


def _ask(model: "Copy", request: Request, signature: Signature) -> Ask:
    predict = partial(bundle.load(model.folder).predict, **request.params)

    def ask(chunk: Chunk) -> tuple[Columns, int]:
        found = answer(predict, signature, chunk, request.keep_bad)
        if found.bad and not request.keep_bad:
            row = min(found.bad)
            raise DataError(
                f"{chunk.place(row)}: {found.bad[row]}; mend it, or add --bad-rows keep to have such "
                "rows written without an answer"
            )
        columns = found.columns | {
            MODEL: [f"{model.name}/{model.version}"] * chunk.num_rows,
            ERROR: [found.bad.get(row) for row in range(chunk.num_rows)],
        }
        return {request.prefix + name: values for name, values in columns.items()}, len(found.bad)

    return ask


def _run(model: "Copy", request: Request, added: Sequence[Field]) -> dict[str, Any]:
    """All that the output depends on: a run that was cut short goes on only where this is the same."""
    return {
        "input": {"sha256": layout.digest(request.input), "bytes": request.input.stat().st_size},
        "model": {"name": model.name, "version": model.version, "bundle": model.bundle},
        "params": dict(request.params),
        "columns": [field.name for field in added],
    }


def _refuse_change(path: Path, stamp: tuple[int, ...]) -> None:
    if _stamp(path) != stamp:
        raise DataError(f"{path}: changed while it was read; run the same command again")


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _explained(output: Path) -> Iterator[None]:
    """A disk that is full, or may not be written to, is not the end of the work."""
    try:
        yield
    except OSError as error:
        raise PlumblineError(
            f"{output}: cannot be written ({error.strerror or error}); what was done is kept: mend that, and run "
            "the same command again"
        ) from None
