"""Files are scored completely, in order, with the model's answers, whatever breaks."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.checkouts import LINE, NOT_OURS
from tests.support.serving.lines import write_evidence
from tests.support.small_texts import SilentLog, small_params, write_examples

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.task import Predictor
from plumbline.entrypoint import load_task
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.scoring import ScoringRequest, ScoringSummary, score
from plumbline.stages.register import register
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
URI = "models:/ticket-router@champion"
TEXTS = [
    "charged twice please refund", "NA", "null", "NaN", "", "ünïcødé 🎉 مرحبا",
    'she said "hello", twice', "two\nlines", "a\ttab", "carriage\rreturn",
    "both\r\nends", "password reset",
    "-", "parcel late",
]  # fmt: skip
GOOD = [text for text in TEXTS if text]
FORMS = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz")
MANY = 32_000  # rows: 32 chunks


HALTING = """
import os, signal, sys
from plumbline.cli import main
from plumbline.scoring.partial_output import PartialOutput

num_rows, append = int(sys.argv.pop(1)), PartialOutput.append

def halting(self, *arguments):
    append(self, *arguments)
    if self.num_rows >= num_rows:
        PartialOutput.append = append
        os.kill(os.getpid(), signal.SIGSTOP)

PartialOutput.append = halting
main()
"""


@dataclass(frozen=True)
class Model:
    """A registered text classifier."""

    copy: CachedVersion
    predictor: Predictor
    environment: dict[str, str]

    def score(
        self,
        given: Path,
        wanted: Path,
        watch: Callable[[int, float], None] = lambda *_: None,
        say: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> ScoringSummary:
        params = {"top_k": 3, "threshold": 0.0} | options.pop("params", {})
        return score(self.copy, ScoringRequest(given, wanted, params, **options), watch, say)

    def command(self, given: Path, wanted: Path, *options: str) -> list[str]:
        return [
            str(Path(sys.executable).with_name("plumbline")),
            "score",
            URI,
            str(given),
            str(wanted),
            *options,
        ]

    def start(
        self, given: Path, wanted: Path, *options: str, **settings: Any
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(given, wanted, *options), env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings,
        )  # fmt: skip

    def halted(self, given: Path, wanted: Path, num_rows: int) -> subprocess.Popen[str]:
        """Started with bad rows kept, and stopped where so many rows are there to last."""
        command = [
            sys.executable,
            "-c",
            HALTING,
            str(num_rows),
            *self.command(given, wanted, "--bad-rows", "keep")[1:],
        ]
        process = subprocess.Popen(
            command, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        return process

    def run(self, given: Path, wanted: Path, *options: str, code: int = 0, **settings: Any) -> str:
        process = self.start(given, wanted, *options, **settings)
        said = "".join(process.communicate(timeout=120))
        assert process.returncode == code, said
        assert "Traceback" not in said
        return said


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder, (params, task) = (
        tmp_path_factory.mktemp("texts"),
        (small_params(), load_task("text_classification")),
    )
    store = {
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlruns/mlflow.db",
        "PLUMBLINE_CACHE": str(folder / "cache"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in store.items():
            patch.setenv(name, value)
        write_examples(layout.EXAMPLES)
        made = build_learner(params, "linear", layout.EXAMPLES)
        fitting.fit(made, params, "linear", SilentLog())
        layout.locate_bundle("closed").mkdir(parents=True)
        made.save(layout.locate_bundle("closed"))
        digest = bundle.seal(layout.locate_bundle("closed"), task, "closed")
        answers = bundle.load(layout.locate_bundle("closed")).predict({"text": GOOD})
        layout.write_json(
            layout.GOLDEN, {"inputs": {"text": GOOD}, "params": {}, "outputs": answers}
        )
        write_evidence(bundle=digest)
        for path in (
            layout.METRICS,
            layout.REPORT,
            layout.PARAMS,
            layout.MANIFEST,
            layout.REFERENCE,
        ):
            path.parent.mkdir(exist_ok=True)
            path.write_text("{}", encoding="utf-8")
        register(params, task)
        copy = VerifiedModelCache(URI).fetch_latest()
    kept = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    return Model(copy, bundle.load(copy.folder), kept | store | {"COLUMNS": "200"})


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    """The columns as a file, in the form that its name says."""
    form, rows = (
        path.name.partition(".")[2],
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    )
    if form == "parquet":
        pq.write_table(pa.table(columns), path)
        return path
    with (gzip.open if form.endswith(".gz") else open)(
        path, "wt", encoding="utf-8", newline=""
    ) as file:
        if form.startswith("jsonl"):
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, list(columns), delimiter="\t" if form == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; what is nested in CSV is read as JSON."""
    form = path.name.partition(".")[2]
    if form == "parquet":
        return list(pq.read_table(path).to_pylist())
    with (gzip.open if form.endswith(".gz") else open)(
        path, "rt", encoding="utf-8", newline=""
    ) as file:
        if form.startswith("jsonl"):
            return [json.loads(line) for line in file]
        rows = list(csv.DictReader(file, delimiter="\t" if form == "tsv" else ","))
    typed = {"score": float, "scores": json.loads, "abstained": json.loads}
    return [
        {name: typed[name](cell) if name in typed and cell else cell for name, cell in row.items()}
        for row in rows
    ]


def nothing_left(folder: Path, given: Path) -> bool:
    return [path.name for path in folder.iterdir()] == [given.name]


@pytest.mark.parametrize("wanted", FORMS)
@pytest.mark.parametrize("given", FORMS)
def test_every_format_has_the_rows_and_the_models_answers(
    model: Model, tmp_path: Path, given: str, wanted: str
) -> None:
    numbers = [f"{row:03}" for row in range(len(GOOD))]
    source, target = (
        write(tmp_path / f"in.{given}", {"n": numbers, "text": GOOD}),
        tmp_path / f"out.{wanted}",
    )
    done = model.score(source, target, params={"top_k": 2})
    assert (done.num_rows, done.num_before, done.num_bad) == (len(GOOD), 0, 0)
    columns = {"n": numbers, "text": GOOD} | model.predictor.predict({"text": GOOD}, top_k=2)
    expected = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert read(target) == [row | {"model": "ticket-router/1"} for row in expected]
    assert list(read(target)[0]) == [*columns, "model"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [source.name, target.name]


def test_a_row_of_text_keeps_its_bytes(model: Model, tmp_path: Path) -> None:
    rows = ['"007",,"a ""quoted"" text"', '7.0,"",plain', '1e3, ,"over\r\ntwo lines"']
    (tmp_path / "in.csv").write_bytes("\r\n".join(["\ufeffn,note,text", *rows, "", ""]).encode())
    model.score(tmp_path / "in.csv", tmp_path / "out.csv", columns=["label"])
    labels = model.predictor.predict({"text": ['a "quoted" text', "plain", "over\r\ntwo lines"]})[
        "label"
    ]
    told = [
        "n,note,text,label",
        *(f"{row},{label}" for row, label in zip(rows, labels, strict=True)),
    ]
    assert (tmp_path / "out.csv").read_bytes().decode() == "".join(line + "\r\n" for line in told)

    (tmp_path / "in.jsonl").write_text(
        '{"text": "plain", "n": 1.10, "deep": [{"a":  1}]}\n\n {"text":"plain"} \n'
    )
    model.score(tmp_path / "in.jsonl", tmp_path / "out.jsonl", columns=["label"], prefix="p_")
    assert (tmp_path / "out.jsonl").read_text() == (
        f'{{"text": "plain", "n": 1.10, "deep": [{{"a":  1}}], "p_label": "{labels[1]}"}}\n'
        f'{{"text":"plain", "p_label": "{labels[1]}"}}\n'
    )


@pytest.mark.parametrize("form", FORMS)
def test_rows_without_an_answer(model: Model, tmp_path: Path, form: str) -> None:
    texts = ["refund", "", "parcel", "x" * 100_001, *TEXTS]
    source, target = write(tmp_path / f"in.{form}", {"text": texts}), tmp_path / f"out.{form}"
    with pytest.raises(
        DataError, match=r"row 2( \(line \d\))?: text: empty; fix it, or add --bad-rows keep"
    ):
        model.score(source, target)
    assert nothing_left(tmp_path, source)
    done = model.score(source, target, keep_bad=True)
    assert (done.num_rows, done.num_bad) == (len(texts), 3)
    rows = read(target)
    missing = "" if form[:3] in ("csv", "tsv") else None
    assert [row["text"] for row in rows] == texts
    bad = {
        1: "text: empty",
        3: "text: 100,001 characters; at most 100,000 are accepted",
        8: "text: empty",
    }
    assert [row["error"] or None for row in rows] == [
        bad.get(number) for number in range(len(texts))
    ]
    assert [
        number for number, row in enumerate(rows) if row["label"] == missing == row["score"]
    ] == list(bad)
    answered = [row for number, row in enumerate(rows) if number not in bad]
    assert [row["label"] for row in answered] == model.predictor.predict(
        {"text": [r["text"] for r in answered]}
    )["label"]


def test_values_that_are_not_of_the_models_type(tmp_path: Path) -> None:
    folder = tmp_path / "line"
    folder.mkdir()
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "plumbline.tasks.__path__",
            [*__import__("plumbline.tasks").tasks.__path__, str(LINE.parent)],
        )
        bundle.seal(folder, load_task("line"), "closed")
    copy = CachedVersion("line", "3", bundle.digest(folder), "line", folder, folder / "bundle.json")
    source, target = (
        write(tmp_path / "in.csv", {"x": ["1", "2.5", "far", "", "-1e1"]}),
        tmp_path / "out.csv",
    )
    with pytest.raises(
        DataError, match=r"in\.csv: row 3 \(line 4\): x: expected double, found 'far'"
    ):
        score(copy, ScoringRequest(source, target, {}), lambda *_: None, lambda _: None)
    assert (
        score(
            copy, ScoringRequest(source, target, {}, keep_bad=True), lambda *_: None, lambda _: None
        ).num_bad
        == 2
    )
    told = [tuple(row.values()) for row in read(target)]
    assert told == [
        ("1", "3.0", "line/3", ""),
        ("2.5", "6.0", "line/3", ""),
        ("far", "", "line/3", "x: expected double, found 'far'"),
        ("", "", "line/3", "x is missing"),
        ("-1e1", "-19.0", "line/3", ""),
    ]


GZIP = gzip.compress(b"text\n" + os.urandom(9999).hex().encode())
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "an extra cell": ("csv", b"text,n\na,1\nb,2,3\n", r"line 3: 3 cells where the header has 2"),
    "a missing cell": ("tsv", b"text\tn\na\t1\n\nb\n", r"line 4: 1 cells where the header has 2"),
    "an open quote": (
        "csv", b'text\na\n"b\nc\nd\n', r"line 5: the record that begins on line 3 is not valid CSV",
    ),
    "text after a quote": (
        "csv", b'text,n\n"a"b,1\n', r"line 2: the record that begins on line 2 is not valid CSV",
    ),
    "not UTF-8": ("csv", b"text\na\nb\ncaf\xe9\n", r"line 4: not UTF-8 \(byte 0xe9\)"),
    "UTF-16": ("csv", "text\na\n".encode("utf-16"), r"line 1: not UTF-8 \(byte 0xff\)"),
    "two columns of one name": ("csv", b"text,n,n\na,1,2\n", r"duplicate column 'n'"),
    "nothing": ("csv", b"", r"the file is empty"),
    "a truncated gzip file": ("csv.gz", GZIP[:-500], r"truncated gzip file"),
    "not a gzip file": ("jsonl.gz", b'{"text": "a"}\n', r"damaged or truncated gzip file"),
    "not JSON": (
        "jsonl", b'{"text": "a"}\n{"text": "b"\n', r"line 2: not a JSON object on one line",
    ),
    "NaN": (
        "jsonl", b'{"text": "a", "n": NaN}\n', r"line 1: not a JSON object on one line \(NaN or ",
    ),
    "a key twice": ("jsonl", b'{"text": "a", "text": "b"}\n', r"line 1: .*the same key twice"),
    "a list": ("jsonl", b'{"text": "a"}\n["b"]\n', r"line 2: expected a JSON object, found list"),
    "a key like an answer": (
        "jsonl", b'{"text": "a"}\n{"text": "b", "label": 1}\n',
        r"line 2: key 'label' has the name of an answer; add --prefix",
    ),
    "not Parquet": ("parquet", b"text,n\na,1\n", r"cannot be read as Parquet"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_named_with_the_line_and_leaves_nothing(
    model: Model, tmp_path: Path, fault: str
) -> None:
    form, content, message = BROKEN[fault]
    source = tmp_path / f"in.{form}"
    source.write_bytes(content)
    with pytest.raises(DataError, match=rf"^{source}: .*{message}"):
        model.score(source, tmp_path / "out.jsonl", keep_bad=True)
    assert nothing_left(tmp_path, source)


def test_a_truncated_or_damaged_parquet_file(model: Model, tmp_path: Path) -> None:
    texts = [f"parcel {row} {os.urandom(8).hex()}" for row in range(30_000)]
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": texts}), source, row_group_size=10_000)
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        model.score(source, tmp_path / "out.csv")
    source.write_bytes(whole[: len(whole) // 2] + bytes(1000) + whole[len(whole) // 2 + 1000 :])
    with pytest.raises(DataError, match=r"after row \d+,\d{3}: cannot be read as Parquet"):
        model.score(source, tmp_path / "out.csv")
    assert nothing_left(tmp_path, source)


def test_json_lines_that_are_not_a_table(model: Model, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a", "n": 1}\n{"text": "b", "n": "two"}\n')
    expected = r"row 1 .* to row 2: n: not all values are of type int64 .*write \.jsonl"
    with pytest.raises(DataError, match=rf"in\.jsonl: {expected}"):
        model.score(source, tmp_path / "out.parquet")
    source.write_text('{"text": "a"}\n{"text": "b", "half": "\\ud83d"}\n')
    for form in ("csv", "parquet"):
        with pytest.raises(DataError, match=r"in\.jsonl: row 1 \(line 1\).*surrogate"):
            model.score(source, tmp_path / f"out.{form}")
    source.write_text('{"text": "a", "n": {}}\n')
    with pytest.raises(DataError, match=r"cannot be written as Parquet .*; write \.jsonl"):
        model.score(source, tmp_path / "out.parquet")
    source.write_text('{"text": "a"}\n' * 5000 + '{"text": "b", "more": 1}\n')
    expected = r"line 5,001: key 'more' is not in any of the first 1,024 rows"
    with pytest.raises(DataError, match=expected):
        model.score(source, tmp_path / "out.csv")
    assert nothing_left(tmp_path, source)


@pytest.mark.parametrize(
    ("name", "columns", "options", "message"),
    [
        (
            "in.csv",
            {"txt": ["a"]},
            {},
            r"missing column 'text' \(did you mean txt\?\); found 'txt'",
        ),
        ("in.parquet", {"body": ["a"]}, {}, r"missing column 'text'; found 'body'"),
        (
            "in.csv",
            {"text": ["a"], "label": ["b"]},
            {},
            r"column 'label' has the name of an answer; add --prefix",
        ),
        (
            "in.csv",
            {"text": ["a"]},
            {"columns": ["labels"]},
            r"--columns labels: .* \(did you mean label\?\)",
        ),
        ("in.xlsx", {"text": ["a"]}, {}, r"in\.xlsx: unknown file format; supported: \.csv"),
    ],
)
def test_an_invalid_request_fails_before_a_row_is_read(
    model: Model,
    tmp_path: Path,
    name: str,
    columns: dict[str, list[str]],
    options: dict[str, Any],
    message: str,
) -> None:
    source = write(tmp_path / name, columns)
    with pytest.raises(PlumblineError, match=message):
        model.score(source, tmp_path / "out.csv", **options)
    assert nothing_left(tmp_path, source)


def test_an_existing_output_is_replaced_only_with_overwrite(model: Model, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.csv", {"text": ["a"]}), tmp_path / "out.csv"
    target.write_text("mine")
    with pytest.raises(ParamsError, match=r"out\.csv: exists; add --overwrite"):
        model.score(source, target)
    assert target.read_text() == "mine"
    with pytest.raises(ParamsError, match="is the input"):
        model.score(source, source, overwrite=True)
    model.score(source, target, overwrite=True)
    assert len(read(target)) == 1


@pytest.mark.parametrize("wanted", FORMS)
@pytest.mark.parametrize("given", FORMS)
def test_no_rows(model: Model, tmp_path: Path, given: str, wanted: str) -> None:
    source = tmp_path / f"in.{given}"
    if given == "parquet":
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), source)
    else:
        write(source, {"text": []})
    assert model.score(source, tmp_path / f"out.{wanted}").num_rows == 0
    assert read(tmp_path / f"out.{wanted}") == []


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = ["refund", "parcel", "password", "late", "please", "twice", "account"]
    texts = [
        f"{words[row % 7]} {words[row % 5]} {row}" if row % 1000 else "" for row in range(MANY)
    ]
    return write(
        tmp_path_factory.mktemp("many") / "in.csv", {"n": list(range(MANY)), "text": texts}
    )


def test_a_row_gets_the_same_answer_in_a_file_as_alone(
    model: Model, many: Path, tmp_path: Path
) -> None:
    model.score(many, tmp_path / "out.jsonl", keep_bad=True, params={"top_k": 9})
    for row in [found for found in read(tmp_path / "out.jsonl")[::397] if found["text"]]:
        alone = model.predictor.predict({"text": [row["text"]]}, top_k=9)
        assert row["label"] == alone["label"][0]
        scores = [
            {part["label"]: pytest.approx(part["score"], abs=1e-6) for part in each}
            for each in alone["scores"]
        ]
        assert {part["label"]: part["score"] for part in row["scores"]} == scores[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv.gz", "parquet"])
def test_killed_anywhere_it_resumes_to_the_same_output(
    model: Model, many: Path, tmp_path: Path, form: str
) -> None:
    whole, target = tmp_path / f"whole.{form}", tmp_path / f"out.{form}"
    assert model.score(many, whole, keep_bad=True).num_bad == 32
    parts = tmp_path / f".{target.name}.parts"
    for num_rows in (1, 8_000, 20_000):
        process = model.halted(many, target, num_rows)
        process.kill()
        process.wait()
        assert not target.exists()
        with (parts / "rows").open("ab") as file:
            file.write(b"half of a ch")  # what a crash may leave behind the last whole chunk
    said = model.run(many, target, "--bad-rows", "keep")
    assert "resuming after row 2" in said
    assert f"{MANY:,} rows by ticket-router version 1" in said
    assert "32 could not be answered, see the column error" in said
    assert target.read_bytes() == whole.read_bytes()
    assert len(read(target)) == MANY
    assert not parts.exists()


def test_interrupted_it_says_how_to_resume(model: Model, many: Path, tmp_path: Path) -> None:
    process = model.halted(many, tmp_path / "out.csv", 1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == 130
    assert said.strip() == "plumbline: interrupted; run the same command again to continue"
    assert "resuming after row" in model.run(many, tmp_path / "out.csv", "--bad-rows", "keep")


def interrupt(num_rows: int, share: float) -> None:
    if num_rows > 8192:
        raise KeyboardInterrupt


@pytest.mark.parametrize("change", ["nothing", "input", "params", "columns", "state"])
def test_rows_of_another_run_are_not_reused(
    model: Model, many: Path, tmp_path: Path, change: str
) -> None:
    source, target, told = tmp_path / "in.csv", tmp_path / "out.csv", list[str]()
    source.write_bytes(many.read_bytes())
    with pytest.raises(KeyboardInterrupt):
        model.score(source, target, interrupt, keep_bad=True)
    options: dict[str, Any] = {
        "params": {"params": {"top_k": 1}},
        "columns": {"columns": ["label"]},
    }.get(change, {})
    if change == "input":
        source.write_bytes(source.read_bytes().replace(b"\n1,", b"\n7,", 1))  # of the same size
    elif change == "state":
        (tmp_path / ".out.csv.parts/state.json").write_text("{")
    done = model.score(source, target, say=told.append, keep_bad=True, **options)
    assert done.num_rows == MANY
    if change == "nothing":
        assert (told, done.num_before) == (["resuming after row 9,216"], 9216)
    else:
        assert done.num_before == 0
        reason = (
            f"{tmp_path}/.out.csv.parts/state.json is damaged"
            if change == "state"
            else f"{change} changed since"
        )
        assert told[0].startswith(f"starting over: {reason}")
    found = read(target)
    assert len(found) == MANY
    assert found[1]["n"] == ("7" if change == "input" else "1")
    assert ("scores" in found[1]) == (change != "columns")
    assert len(found[1].get("scores", [])) == {"params": 1, "columns": 0}.get(change, 3)


def test_an_input_that_changes_during_the_run(model: Model, many: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(many.read_bytes())

    def grow(num_rows: int, share: float) -> None:
        with source.open("a") as file:
            file.write("1,another\n")

    with pytest.raises(
        DataError, match=r"in\.csv: changed while it was read; run the same command again"
    ):
        model.score(source, tmp_path / "out.csv", grow, keep_bad=True)
    assert nothing_left(tmp_path, source)


def test_a_second_process_is_refused(model: Model, many: Path, tmp_path: Path) -> None:
    target, told = tmp_path / "out.csv", []

    def again(num_rows: int, share: float) -> None:
        with pytest.raises(PlumblineError, match=r"out\.csv: another process is writing it"):
            model.score(many, target, keep_bad=True)
        told.append(num_rows)

    assert model.score(many, target, again, keep_bad=True).num_rows == MANY
    assert len(told) == 32


@pytest.mark.slow
@pytest.mark.parametrize(("form", "limit"), [("csv", 4_000_000), ("parquet", 600_000)])
def test_a_full_disk_keeps_the_rows_so_far(
    model: Model, many: Path, tmp_path: Path, form: str, limit: int
) -> None:
    whole, target = tmp_path / f"whole.{form}", tmp_path / f"out.{form}"
    model.score(many, whole, keep_bad=True)

    def full() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    said = model.run(many, target, "--bad-rows", "keep", code=1, preexec_fn=full)
    assert f"{target}: cannot be written (File too large); the rows so far are kept" in said
    assert not target.exists()
    assert "resuming after row" in model.run(many, target, "--bad-rows", "keep")
    assert target.read_bytes() == whole.read_bytes()


def test_the_command_needs_neither_mlflow_nor_torch(model: Model, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.csv", {"text": GOOD}), tmp_path / "out.csv"
    heavy = ("mlflow", "torch", "transformers", "lightning", "pandas", "great_expectations")
    program = (
        "import sys; from plumbline import cli\n"
        "try: cli.main()\n"
        f"finally: print('loaded:', [name for name in {heavy} if name in sys.modules])"
    )
    command = [
        sys.executable,
        "-c",
        program,
        "score",
        URI,
        str(source),
        str(target),
        "--columns",
        "label,score",
    ]
    done = subprocess.run(
        command, env=model.environment, capture_output=True, text=True, check=True
    )
    assert f"{target}: {len(GOOD)} rows by ticket-router version 1, " in done.stdout
    assert "loaded: []" in done.stdout
    assert done.stderr == ""
    assert list(read(target)[0]) == ["text", "label", "score"]
