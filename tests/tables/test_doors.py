"""What one door reads, all read: the file that trained a model is scored by it as it is."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.scored_files import read, seal_line
from tests.support.small_sources import read_source

from plumbline import bundle
from plumbline.contract.errors import DataError, ParamsError
from plumbline.drift import check, window
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.scoring import ScoringRequest, score
from plumbline.serving.request_body import parse_body
from plumbline.tables.formats import list_columns
from plumbline.tables.records import WantedColumn

SOURCE = {"columns": {"x": "Betrag", "label": "Größe"}}
COLUMNS = (WantedColumn("Betrag", "data.columns.text"), WantedColumn("Größe", "data.columns.label"))
ROWS = [("1", "groß"), ("2.5", "klein, ok")]
ANSWERS = [3.0, 6.0]
COMMAS = 'Betrag,Größe\n1,groß\n2.5,"klein, ok"\n'
SEMICOLONS = "Betrag;Größe\n1;groß\n2.5;klein, ok\n"
OBJECTS = [{"Betrag": 1, "Größe": "groß"}, {"Betrag": 2.5, "Größe": "klein, ok"}]
LINES = "".join(json.dumps(record) + "\n" for record in OBJECTS)
FEATURE = {"names": ["klein, ok", "groß"], "_type": "ClassLabel"}
FEATURES = json.dumps({"info": {"features": {"Größe": FEATURE}}}).encode()


@dataclass(frozen=True)
class Kind:
    """A file of its kind; `body` where a server takes it as CSV."""

    name: str
    content: bytes
    body: bool = False


def build_arrow(name: str, *, numbered: bool = False) -> bytes:
    labels: list[Any] = [1, 0] if numbered else [label for _, label in ROWS]
    table = pa.table({"Betrag": [1.0, 2.5], "Größe": labels})
    if numbered:
        table = table.replace_schema_metadata({b"huggingface": FEATURES})
    stream = pa.BufferOutputStream()
    if name.endswith(".parquet"):
        pq.write_table(table, stream)
    else:
        open_writer = pa.ipc.new_stream if name == "stream.arrow" else pa.ipc.new_file
        with open_writer(stream, table.schema) as writer:
            writer.write_table(table)
    return bytes(stream.getvalue())


KINDS = {
    "commas": Kind("a.csv", COMMAS.encode(), body=True),
    "semicolons": Kind("a.csv", SEMICOLONS.encode(), body=True),
    "tabs": Kind("a.tsv", SEMICOLONS.replace(";", "\t").encode(), body=True),
    "vertical bars": Kind("a.txt", SEMICOLONS.replace(";", "|").encode(), body=True),
    "a declared delimiter": Kind("a.csv", f'"sep=;"\n{SEMICOLONS}'.encode(), body=True),
    "lines of Windows": Kind("a.csv", SEMICOLONS.replace("\n", "\r\n").encode(), body=True),
    "UTF-8 with a mark": Kind("a.csv", b"\xef\xbb\xbf" + SEMICOLONS.encode(), body=True),
    "UTF-16": Kind("a.csv", SEMICOLONS.encode("utf-16"), body=True),
    "UTF-32": Kind("a.csv", SEMICOLONS.encode("utf-32"), body=True),
    "UTF-16, big end first": Kind("a.csv", b"\xfe\xff" + SEMICOLONS.encode("utf-16-be"), body=True),
    "UTF-32, big end first": Kind(
        "a.csv", b"\0\0\xfe\xff" + SEMICOLONS.encode("utf-32-be"), body=True
    ),
    "GB 18030": Kind("a.csv", b"\x84\x31\x95\x33" + SEMICOLONS.encode("gb18030"), body=True),
    "Windows-1252": Kind("a.csv", SEMICOLONS.encode("cp1252")),
    "gzip": Kind("A.CSV.GZ", gzip.compress(SEMICOLONS.encode())),
    "gzip by another name": Kind("a.csv", gzip.compress(SEMICOLONS.encode())),
    "joined files": Kind(
        "a.csv", 'Betrag,Größe\n1,groß\nBetrag,Größe\n2.5,"klein, ok"\n'.encode(), body=True
    ),
    "blanks before quotes": Kind("a.csv", COMMAS.replace(',"', ', "').encode(), body=True),
    "columns without a name": Kind(
        "a.csv", SEMICOLONS.replace("\n", ";;\n").encode(), body=True
    ),
    "JSON lines": Kind("a.jsonl", LINES.encode()),
    "Parquet": Kind("a.parquet", build_arrow("a.parquet")),
    "Arrow": Kind("a.arrow", build_arrow("a.arrow")),
    "an Arrow stream": Kind("stream.arrow", build_arrow("stream.arrow")),
    "numbered classes": Kind("a.parquet", build_arrow("a.parquet", numbered=True)),
}  # fmt: skip


@pytest.fixture(scope="module")
def champion(tmp_path_factory: pytest.TempPathFactory) -> CachedVersion:
    return seal_line(tmp_path_factory.mktemp("model"), SOURCE)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, folder: Path) -> Kind:
    kind = KINDS[request.param]
    Path(kind.name).write_bytes(kind.content)
    return kind


def test_ingest_and_init(kind: Kind) -> None:
    assert read_source(kind.name, COLUMNS).values == ROWS
    with Path(kind.name).open("rb") as file:
        assert list_columns(file, kind.name) == ["Betrag", "Größe"]


def score_file(copy: CachedVersion, name: str, **options: Any) -> list[dict[str, Any]]:
    target = Path("out.jsonl")
    request = ScoringRequest(Path(name), target, {}, overwrite=True, **options)
    score(copy, request, lambda *_: None, lambda _: None)
    return read(target)


def test_score(kind: Kind, champion: CachedVersion) -> None:
    rows = score_file(champion, kind.name)
    assert [(row["y"], row["Größe"]) for row in rows] == [
        (answer, label) for answer, (_, label) in zip(ANSWERS, ROWS, strict=True)
    ]


def test_drift(kind: Kind, champion: CachedVersion) -> None:
    rows = window.load_current(kind.name, champion, 100)
    assert {"input.x", "output.y"} <= set(rows.rows.columns)
    named = check._name_label(rows, "label", kind.name, champion).rows
    assert named["output.y"].tolist() == ANSWERS
    assert named["label"].tolist() == [label for _, label in ROWS]


def test_server(kind: Kind, champion: CachedVersion) -> None:
    if not kind.body:
        pytest.skip("no CSV that a request holds")
    signature = bundle.read_signature(champion.folder)
    request = parse_body(kind.content, "text/csv", signature, 9, SOURCE["columns"])
    assert request.columns == {"x": [1.0, 2.5]}


def test_the_output_is_read_as_the_input_was(champion: CachedVersion, folder: Path) -> None:
    Path("a.csv").write_text(SEMICOLONS.replace("\n", ";;\n"), encoding="utf-8")
    request = ScoringRequest(Path("a.csv"), Path("out.csv"), {}, columns=["y"])
    score(champion, request, lambda *_: None, lambda _: None)
    assert Path("out.csv").read_text(encoding="utf-8") == (
        "Betrag;Größe;;;y\n1;groß;;;3.0\n2.5;klein, ok;;;6.0\n"
    )


def test_a_column_of_another_name_is_named(champion: CachedVersion, folder: Path) -> None:
    Path("a.csv").write_text("id;Summe\n7;1\n")
    with pytest.raises(DataError, match=r"missing column 'Betrag'.*--column 'x=COLUMN'"):
        score_file(champion, "a.csv")
    assert [row["y"] for row in score_file(champion, "a.csv", inputs={"x": "Summe"})] == [3.0]
    with pytest.raises(ParamsError, match="--column z: the model has no such input"):
        score_file(champion, "a.csv", inputs={"z": "Summe"})
    Path("a.csv").write_text("x\n1\n")  # the name of the signature is known as well
    assert [row["y"] for row in score_file(champion, "a.csv")] == [3.0]


def test_bytes_that_ingest_refused_are_refused(folder: Path) -> None:
    strict = seal_line(folder, SOURCE | {"encoding": "refuse"})
    Path("a.csv").write_bytes(SEMICOLONS.encode("cp1252"))
    with pytest.raises(DataError, match=r"a\.csv:1: not UTF-8: byte 0xf6"):
        score_file(strict, "a.csv")
