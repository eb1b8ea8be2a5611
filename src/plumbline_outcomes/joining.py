"""Join outcomes to the answers that were given: what is in doubt is left out, and counted.

A row is known by the id of its request, its number in it, and the digest of its inputs: a client
may repeat an id. With equal inputs that is one unit, whose first answer counts; with others the
id is ambiguous.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from plumbline.contract.answers import ROUNDING, is_same_answer, pick_decision
from plumbline.contract.errors import DataError
from plumbline.contract.task import Signature
from plumbline.tables.rows import StoredRows
from plumbline_outcomes.outcome_rows import OutcomesFile
from plumbline_outcomes.request_rows import read_outputs

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAX_UNKNOWN = 0.2  # of the outcomes
NUM_NAMED = 5
CONFIDENCES = ("score", "confidence")  # how tasks call the chance that an answer is right
ScoreAnswer = Callable[[Mapping[str, Any], Any], float]
TEXTS = ("day", "bundle", "version", "side", "assigned", "key", "answer", "source", "slices")
NUMBERS = ("draw", "share", "confidence", "score")
FLAGS = ("shown", "answered", "counts")

PROBLEMS = """
SELECT place, CASE
  WHEN "row" <> '' AND NOT regexp_full_match("row", '\\d{1,9}(\\.0)?')
    THEN 'row: expected a whole number from 0'
  WHEN "at" <> ''
    AND coalesce(TRY_CAST("at" AS TIMESTAMPTZ) NOT BETWEEN '1970-01-01' AND '9999-01-01', true)
    THEN 'at: expected a time such as 2026-11-20T08:30:00Z'
  WHEN lower(source) NOT IN ('', 'human', 'system', 'model')
    THEN 'source: expected human, system or model'
  WHEN lower(saw_answer) NOT IN ('', '0', '1', '0.0', '1.0', 'true', 'false', 'yes', 'no')
    THEN 'saw_answer: expected true or false'
  WHEN lower(withdrawn) NOT IN ('', '0', '1', '0.0', '1.0', 'true', 'false', 'yes', 'no')
    THEN 'withdrawn: expected true or false'
  WHEN ? = 'value' AND truth <> '' AND coalesce(TRY_CAST(truth AS DOUBLE) NOT BETWEEN 0 AND 1, true)
    THEN 'value: expected a number from 0 to 1' END AS problem
FROM given WHERE problem IS NOT NULL LIMIT 1
"""
# A table of numbers writes the class 1 as 1.0 where a label is missing.
OUTCOMES = r"""
SELECT trim(request_id) AS request_id, CAST(nullif("row", '') AS INTEGER) AS "row",
  if(whole IN classes AND truth NOT IN classes, whole, nullif(truth, '')) AS truth,
  TRY_CAST("at" AS TIMESTAMPTZ) AS "at", slices,
  coalesce(nullif(lower(source), ''), 'human') AS source,
  coalesce(lower(withdrawn) IN ('1', '1.0', 'true', 'yes'), false) AS withdrawn,
  coalesce(lower(source), '') <> 'model'
    AND coalesce(lower(saw_answer) NOT IN ('1', '1.0', 'true', 'yes'), true) AS counts
FROM (SELECT *, regexp_replace(truth, '^(-?\d+)\.0+$', '\1') AS whole, ?::VARCHAR[] AS classes
  FROM given)
WHERE trim(request_id) <> '' AND (truth <> '' OR lower(withdrawn) IN ('1', '1.0', 'true', 'yes'))
"""
# One for each id and row: the last one of a source is a correction, all others contradict it. What
# does not count is left out where something counts. No DISTINCT: its memory would grow with rows.
LABELS = """
SELECT request_id, coalesce("row", 0) AS number, bool_or("row" IS NULL) AS unnumbered,
  arg_max(truth, (counts, coalesce("at", to_timestamp(0)), truth)) AS truth,
  arg_max(slices, (counts, coalesce("at", to_timestamp(0)), truth)) AS slices,
  coalesce(max("at") FILTER (counts), max("at")) AS labelled_at,
  coalesce(min(source) FILTER (counts), min(source)) AS source,
  bool_or(counts) AS counts,
  arg_max(withdrawn, (counts, coalesce("at", to_timestamp(if(withdrawn, 1e12, 0))), withdrawn))
    AS withdrawn,
  coalesce(min(truth) FILTER (counts) <> max(truth) FILTER (counts) AND (
    count("at") FILTER (counts) < count(*) FILTER (counts)
    OR min(source) FILTER (counts) <> max(source) FILTER (counts)
    OR arg_max(truth, ("at", truth)) FILTER (counts)
      <> arg_min(truth, (-epoch("at"), truth)) FILTER (counts)), false) AS contradicts
FROM outcomes GROUP BY request_id, number
"""
IDS = """
SELECT request_id, bool_or(contents > 1) AS ambiguous, count(*) AS num_rows, max("row") AS last
FROM (SELECT request_id, "row", count(DISTINCT content) AS contents
      FROM rows GROUP BY request_id, "row")
GROUP BY request_id
"""
FOUND = """
SELECT labels.*,
  CASE WHEN contradicts THEN 'contradictory' WHEN withdrawn THEN 'withdrawn'
    WHEN ids.request_id IS NULL AND labelled_at < ? THEN 'older'
    WHEN ids.request_id IS NULL OR number > last THEN 'unknown'
    WHEN ambiguous THEN 'ambiguous'
    WHEN unnumbered AND num_rows > 1 THEN 'unnumbered' ELSE 'joined' END AS status
FROM labels LEFT JOIN ids USING (request_id)
"""
FIRST = """
SELECT arg_min(rowid, ("at", outputs IS NULL, side)) AS place
FROM rows ANTI JOIN (SELECT request_id FROM ids WHERE ambiguous) USING (request_id)
GROUP BY request_id, "row", bundle
"""
# Of `build_schema` all but the score, and what it takes for it. To sort texts would take memory.
ANSWERS = """
SELECT rows.* EXCLUDE (request_id, inputs, outputs, content), strftime("at", '%Y-%m-%d') AS day,
  labelled_at, source, slices, coalesce(counts, false) AS counts, outputs IS NOT NULL AS answered,
  coalesce(outputs ->> ?, '') AS answer, if(?, outputs, NULL) AS outputs,
  TRY_CAST(coalesce(outputs ->> '$.score', outputs ->> '$.confidence') AS DOUBLE) AS confidence,
  if(truth IS NOT NULL AND outputs IS NOT NULL, {'request_id': rows.request_id, 'truth': truth,
    'shown': shown, 'outputs': outputs}, NULL) AS scored
FROM rows LEFT JOIN (SELECT * FROM found WHERE status = 'joined') AS found
  ON rows.request_id = found.request_id AND rows."row" = number
WHERE rows.rowid IN (SELECT place FROM first)
"""
STATUSES = """
SELECT status, count(*) AS size, list(DISTINCT request_id ORDER BY request_id)[:?] AS ids
FROM found GROUP BY status ORDER BY status
"""
COUNTS = """
SELECT (SELECT count(*) FROM given) - (SELECT count(*) FROM outcomes) AS empty,
  (SELECT count(*) FROM rows SEMI JOIN (SELECT request_id FROM ids WHERE ambiguous)
     USING (request_id)) AS ambiguous
"""

LATE = """
SELECT (SELECT count(*) FROM found WHERE status = 'unknown'
    AND digest(? || ' ' || request_id) IN (SELECT id FROM closed)) AS outcomes,
  (SELECT count(*) FROM past ANTI JOIN closed USING (id)) AS answers
"""


def build_schema() -> "pa.Schema":
    """The columns of joined rows, which closed days have too; texts that repeat are kept once."""
    import pyarrow as pa

    time, text = pa.timestamp("us", "UTC"), pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        {
            "id": pa.int64(),
            "row": pa.int32(),
            "at": time,
            "labelled_at": time,
        }
        | dict.fromkeys(TEXTS, text)
        | dict.fromkeys(NUMBERS, pa.float64())
        | dict.fromkeys(FLAGS, pa.bool_())
    )


class JoinedRows:
    """The answers of a log, each with its outcome where there is one.

    `rows` has the tables; `statuses` has, for each thing that outcomes were found to be, `count`
    and a few `ids`. DataError names a row of the outcomes that is not valid.
    """

    def __init__(
        self,
        requests: StoredRows,
        outcomes: OutcomesFile,
        first: datetime | None,
        signature: Signature,
        classes: Collection[str],
    ) -> None:
        self.rows = requests
        self._outputs = signature.outputs
        self._is_text = signature.outputs[0].type == "string"
        types = json.dumps([each.type for each in signature.outputs])
        self._is_plain = self._is_text and '"items": {"type": "string"' not in types
        self.kind = outcomes.kind
        requests.add_table("given", outcomes.read_batches())
        for place, problem in requests.query(PROBLEMS, self.kind).itertuples(index=False):
            raise DataError(f"{place}: {problem}")
        requests.query(f"CREATE TABLE outcomes AS {OUTCOMES}", sorted(classes))
        requests.query(f"CREATE TABLE labels AS {LABELS}")
        requests.query(f"CREATE TABLE ids AS {IDS}")
        requests.query(f"CREATE TABLE found AS {FOUND}", first)
        requests.query(f"CREATE TABLE first AS {FIRST}")
        found: Any = requests.query(STATUSES, NUM_NAMED)
        self.statuses: dict[str, dict[str, Any]] = {
            row.status: {"count": row.size, "ids": [f"{name!r:.60}" for name in row.ids]}
            for row in found.astype({"size": object}).itertuples()
        }
        counts: Any = requests.query(COUNTS)
        self.num_empty, self.num_ambiguous = map(int, counts.iloc[0])

    def refuse_strangers(self, num_closed: int = 0) -> None:
        """DataError where more than a fifth of the outcomes have ids that the log does not know.

        `num_closed` of them belong to days that were closed before, and are left out of the count.
        """
        counts = {name: status["count"] for name, status in self.statuses.items()}
        num_unknown = counts.get("unknown", 0) - num_closed
        total = sum(counts.values()) - counts.get("older", 0) - num_closed
        if total and num_unknown > MAX_UNKNOWN * total:
            named = ", ".join(self.statuses["unknown"]["ids"])
            own = self.rows.query("SELECT request_id FROM rows ORDER BY request_id LIMIT 1")
            known = "".join(f"; one of the log is {name!r:.60}" for name in own["request_id"])
            raise DataError(
                f"{num_unknown:,} of {total:,} outcomes have an id that the log does not know, "
                f"such as {named}{known}: ids of another server, or not "
                "those of the header x-request-id? (`row` counts from 0; a server writes its log "
                "each minute, and with --limit log_share not all requests)"
            )

    def list_truths(self) -> list[str]:
        """List the different truths of what is joined."""
        query = "SELECT DISTINCT truth FROM found WHERE status = 'joined' ORDER BY truth"
        return list(self.rows.query(query)["truth"])

    def count_closed(self, model: str, ids: "pd.Series") -> tuple[int, int]:
        """Count what comes too late for the closed days with these `ids`: outcomes, and answers.

        Such outcomes are of no request that was read, such answers are not in these days.
        """
        import pyarrow as pa

        closed = pa.RecordBatch.from_pydict({"id": pa.array(ids.unique(), pa.int64())})
        self.rows.add_table("closed", [closed])
        counts: Any = self.rows.query(LATE, model)
        return int(counts.iloc[0, 0]), int(counts.iloc[0, 1])

    def collect(self, score_answer: ScoreAnswer) -> "pd.DataFrame":
        """Collect the first answer of each version to each row, in the order of time.

        The columns are those of `build_schema`: `id` is the request's, digested, `answer` what
        users act on as text, `score` 0 to 1, NaN without an outcome, `counts` whether the outcome
        may decide, `slices` JSON. A reaction is the score of the answer that was shown. Nothing can
        be asked afterwards.
        """
        import pyarrow as pa

        schema, parts = build_schema(), []
        path = f'$."{self._outputs[0].name}"'
        for batch in self.rows.read(ANSWERS, path, not self._is_plain):
            scores = [self._score(each, score_answer) for each in batch["scored"].to_pylist()]
            part = pa.Table.from_batches([batch]).append_column("score", [pa.array(scores)])
            if not self._is_plain:
                texts = [self._write_decision(each) for each in batch["outputs"].to_pylist()]
                part = part.drop_columns("answer").append_column("answer", [pa.array(texts)])
            parts.append(part.select(schema.names).cast(schema))
        table = pa.concat_tables(parts or [schema.empty_table()]).unify_dictionaries()
        del parts, self.rows  # its memory is needed
        rows: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
        if not self._is_text:
            rows["answer"] = _unify_rounded(rows)
        return rows.sort_values(["at", "id", "row", "side"], kind="stable", ignore_index=True)

    def _score(self, record: dict[str, Any] | None, score_answer: ScoreAnswer) -> float:
        if record is None:
            return math.nan
        if self.kind == "label":
            outputs = read_outputs(record["outputs"], self._outputs)
            return self._rate(score_answer, outputs, record)
        return float(record["truth"]) if record["shown"] else math.nan

    def _write_decision(self, written: str | None) -> str:
        """What users act on: the text, if it is one, else JSON."""
        values = list(pick_decision(read_outputs(written, self._outputs)).values())
        if self._is_text and len(values) == 1:
            return str(values[0])
        return json.dumps(values)

    def _rate(
        self, score_answer: ScoreAnswer, outputs: dict[str, Any], record: Mapping[str, Any]
    ) -> float:
        """Score one answer from 0 to 1; DataError names a truth that the task cannot read."""
        truth = record["truth"]
        try:
            score = float(score_answer(outputs, truth))
        except (ValueError, TypeError, LookupError) as error:
            raise DataError(
                f"request {record['request_id']!r:.60}: the label {truth!r:.60} cannot be compared "
                f"with the answer ({error})"
            ) from None
        if not 0 <= score <= 1:
            raise DataError(f"score_answer gave {score}; a task returns a number from 0 to 1")
        return score


def _unify_rounded(rows: "pd.DataFrame") -> "pd.Series":
    """The answers, where others of a row differ by rounding alone that of the first version."""
    answers = rows["answer"].astype(object)
    first = answers.groupby([rows["id"], rows["row"]], sort=False).transform("first")
    for place in answers.index[answers != first]:
        one, other = json.loads(first[place]), json.loads(answers[place])
        if is_same_answer(one, other, tolerance=ROUNDING):
            answers[place] = first[place]
    return answers.astype("category")
