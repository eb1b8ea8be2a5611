"""Join outcomes to the answers that were given: what is in doubt is left out, and counted.

A row is known by the id of its request, its number in it, and the digest of its inputs: a client
may repeat an id. With equal inputs that is one unit, whose first answer counts; with others the
id is ambiguous.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from plumbline.contract.answers import ROUNDING, is_same_answer, pick_decision
from plumbline.contract.errors import DataError
from plumbline.sources.request_folder import RequestFolder
from plumbline.tables.rows import ROW, StoredRows
from plumbline_outcomes.outcome_rows import OutcomesFile
from plumbline_outcomes.request_rows import read_outputs, read_requests

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from plumbline_outcomes.check import Subject

MAX_UNKNOWN = 0.2  # of the outcomes
NUM_NAMED = 5
CONFIDENCES = ("score", "confidence")  # how tasks call the chance that an answer is right
ScoreAnswer = Callable[[Mapping[str, Any], Any], float]

FLAG = """
CREATE MACRO is_true(written) AS CASE WHEN lower(written) IN ('1', '1.0', 'true', 'yes') THEN true
  WHEN lower(written) IN ('0', '0.0', 'false', 'no') THEN false END
"""
PROBLEMS = """
SELECT place, CASE
  WHEN "row" <> '' AND NOT regexp_full_match("row", '\\d{1,9}(\\.0)?')
    THEN 'row: expected a whole number from 0'
  WHEN "at" <> ''
    AND coalesce(TRY_CAST("at" AS TIMESTAMPTZ) NOT BETWEEN '1970-01-01' AND '9999-01-01', true)
    THEN 'at: expected a time such as 2026-11-20T08:30:00Z'
  WHEN lower(source) NOT IN ('', 'human', 'system', 'model')
    THEN 'source: expected human, system or model'
  WHEN saw_answer <> '' AND is_true(saw_answer) IS NULL THEN 'saw_answer: expected true or false'
  WHEN withdrawn <> '' AND is_true(withdrawn) IS NULL THEN 'withdrawn: expected true or false'
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
  coalesce(is_true(withdrawn), false) AS withdrawn,
  coalesce(lower(source), '') <> 'model' AND NOT coalesce(is_true(saw_answer), false) AS counts
FROM (SELECT *, regexp_replace(truth, '^(-?\d+)\.0+$', '\1') AS whole, ?::VARCHAR[] AS classes
  FROM given)
WHERE trim(request_id) <> '' AND (truth <> '' OR is_true(withdrawn))
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
SHIFTED = """
SELECT min(request_id) AS name, count(*) AS size FROM labels JOIN ids USING (request_id)
WHERE number > last AND NOT EXISTS (FROM labels WHERE number = 0 AND NOT unnumbered) HAVING size > 0
"""
# Each version counts by its first answer to a row, or the row by the first one that there is.
FIRST = """
SELECT arg_min("#row", ("at", side <> 'champion', outputs IS NULL, side)) AS "#row"
FROM rows ANTI JOIN (SELECT request_id FROM ids WHERE ambiguous) USING (request_id)
GROUP BY request_id, "row", CASE WHEN ? THEN bundle END
"""
LABELLED = """
CREATE VIEW labelled AS SELECT rows.*, strftime("at", '%Y-%m-%d') AS day,
  truth, labelled_at, source, slices, coalesce(counts, false) AS counts
FROM rows LEFT JOIN (SELECT * FROM found WHERE status = 'joined') AS found
  ON rows.request_id = found.request_id AND rows."row" = number
WHERE rows."#row" IN (FROM first)
"""
# Python computes the score, and the answer unless it is a text.
TOLD = """
SELECT "#row", request_id, truth, shown, outputs FROM labelled
WHERE truth IS NOT NULL AND outputs IS NOT NULL OR NOT ?
  OR len(list_filter(json_extract_string(outputs, ?::VARCHAR[]), lambda text: text <> '')) > 0
"""
ANSWERS = """
CREATE TABLE answers AS SELECT id, "row", "at", labelled_at, day, bundle, version, side, assigned,
  key, coalesce(answer, outputs ->> ?, '') AS answer, source, slices, draw, share,
  TRY_CAST(coalesce(outputs ->> '$.score', outputs ->> '$.confidence') AS DOUBLE) AS confidence,
  score, shown, outputs IS NOT NULL AS answered, counts
FROM labelled LEFT JOIN scores USING ("#row")
"""
# A table of pandas keeps each text of a category once, and is sorted there in less memory.
TEXTS = "SELECT column_name FROM (DESCRIBE answers) WHERE column_type = 'VARCHAR'"
CATEGORY = """
CREATE TYPE {0}_texts AS ENUM (
  SELECT DISTINCT "{0}" FROM answers WHERE "{0}" IS NOT NULL ORDER BY ALL)
"""
COLLECTED = "SELECT * REPLACE ({}) FROM answers"
IN_TIME = ["at", "id", "row", "side"]
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
  (SELECT coalesce(sum(size), 0) FROM past ANTI JOIN closed USING (id)) AS answers
"""


def pick_first(rows: StoredRows, *, by_version: bool = False) -> None:
    """Create the tables `ids`, of requests, and `first`, of which answers to their rows count."""
    rows.query(f"CREATE TABLE ids AS {IDS}")
    rows.query(f"CREATE TABLE first AS {FIRST}", by_version)


class JoinedRows:
    """The answers of a log, from `since` on, each with its outcome where there is one.

    `rows` has the tables, and `labelled` what counts: the first answer of each version to each row;
    unless `by_version`, the first answer alone, with its inputs. `statuses` has, for each thing
    that outcomes were found to be, `count` and a few `ids`. Outcomes from before `first` and the
    log may be of requests that it has no more. DataError names a row of the outcomes that is not
    valid.
    """

    def __init__(
        self,
        subject: "Subject",
        folder: RequestFolder,
        outcomes: OutcomesFile,
        now: datetime,
        *,
        first: datetime | None = None,
        since: datetime | None = None,
        by_version: bool = True,
    ) -> None:
        name, signature = subject.champion.name, subject.signature
        requests, self.facts = read_requests(folder, name, since, now, with_inputs=not by_version)
        oldest = min(filter(None, (first, self.facts.first)), default=None)
        self.rows = requests
        self.kind = outcomes.kind
        self._outputs = signature.outputs
        self._is_text = signature.outputs[0].type == "string"
        self._lists = []  # of texts, which users act on where an answer has one
        for each in signature.outputs:
            if '"items": {"type": "string"' in json.dumps(each.type):
                self._lists.append(f'$."{each.name}"')
        requests.add_table("given", outcomes.read_batches())
        requests.query(FLAG)
        for place, problem in requests.query(PROBLEMS, self.kind).itertuples(index=False):
            raise DataError(f"{place}: {problem}")
        requests.query(f"CREATE TABLE outcomes AS {OUTCOMES}", sorted(subject.classes))
        requests.query(f"CREATE TABLE labels AS {LABELS}")
        pick_first(requests, by_version=by_version)
        requests.query(f"CREATE TABLE found AS {FOUND}", oldest)
        requests.query(LABELLED)
        self.statuses: dict[str, dict[str, Any]] = {}
        for status, size, ids in requests.query(STATUSES, NUM_NAMED).itertuples(index=False):
            named = [f"{name!r:.60}" for name in ids]
            self.statuses[str(status)] = {"count": int(size), "ids": named}
        counts: Any = requests.query(COUNTS)
        self.num_empty, self.num_ambiguous = map(int, counts.iloc[0])

    def refuse_strangers(self, num_closed: int = 0) -> None:
        """DataError where more than a fifth of the outcomes have ids that the log does not know.

        `num_closed` of them belong to days that were closed before, and are left out of the count.
        DataError too where rows seem to be counted from 1.
        """
        for name, size in self.rows.query(SHIFTED).itertuples(index=False):
            raise DataError(
                f"{size:,} outcomes name a row after the last one of their request, such as "
                f"{name!r:.60}, and none names row 0: `row` counts from 0; subtract 1"
            )
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
                "those of the header x-request-id? (A server writes its log "
                "each minute, and with --limit log_share not all requests)"
            )

    def list_truths(self) -> list[str]:
        """List the different truths of what is joined."""
        query = "SELECT DISTINCT truth FROM found WHERE status = 'joined' ORDER BY truth"
        return list(self.rows.query(query)["truth"])

    def count_closed(self, model: str, closed: Sequence["pd.DataFrame"]) -> tuple[int, int]:
        """Count what comes too late for these closed days: outcomes, and answers.

        Such outcomes are of no request that was read, such answers are not in these days.
        """
        import pyarrow as pa

        none = pa.RecordBatch.from_pydict({"id": pa.array([], pa.int64())})
        own = [pa.RecordBatch.from_pandas(day[["id"]], preserve_index=False) for day in closed]
        self.rows.add_table("closed", [none, *own])
        counts: Any = self.rows.query(LATE, model)
        return int(counts.iloc[0, 0]), int(counts.iloc[0, 1])

    def collect(self, score_answer: ScoreAnswer) -> "pd.DataFrame":
        """Collect what counts in the order of time, with the columns of ANSWERS.

        `id` is the request's, digested, `answer` what users act on as text, `score` 0 to 1, NaN
        without an outcome, `counts` whether the outcome may decide, `slices` JSON. A reaction is
        the score of the answer that was shown. Texts are categories. Ask nothing afterwards.
        """
        query = self.rows.query
        self.rows.add_table("scores", self._read_scores(score_answer))
        query(ANSWERS, f'$."{self._outputs[0].name}"')
        texts = list(query(TEXTS)["column_name"])
        for name in texts:
            query(CATEGORY.format(name))
        own = ", ".join(f'"{name}"::{name}_texts AS "{name}"' for name in texts)
        query("SET memory_limit = '64MB'")  # the rest is for what is collected
        rows = query(COLLECTED.format(own))
        del self.rows, query
        rows = rows.sort_values(IN_TIME, ignore_index=True)
        if not self._is_text:
            rows["answer"] = _unify_rounded(rows)
        return rows

    def _read_scores(self, score_answer: ScoreAnswer) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        schema = pa.schema({ROW: pa.int64(), "score": pa.float64(), "answer": pa.string()})
        yield pa.RecordBatch.from_pylist([], schema)
        for batch in self.rows.read(TOLD, self._is_text, self._lists):
            rows = batch.to_pylist()
            for row in rows:
                outputs = read_outputs(row["outputs"], self._outputs)
                if row["truth"] is not None and outputs:
                    row["score"] = self._score(row, outputs, score_answer)
                if self._lists or not self._is_text:
                    row["answer"] = self._write_decision(outputs)
            yield pa.RecordBatch.from_pylist(rows, schema)

    def _score(
        self, row: Mapping[str, Any], outputs: dict[str, Any], score_answer: ScoreAnswer
    ) -> float | None:
        """Score one answer from 0 to 1; DataError names a truth that the task cannot read."""
        truth = row["truth"]
        if self.kind == "value":
            return float(truth) if row["shown"] else None
        try:
            score = float(score_answer(outputs, truth))
        except (ValueError, TypeError, LookupError) as error:
            raise DataError(
                f"request {row['request_id']!r:.60}: the label {truth!r:.60} cannot be compared "
                f"with the answer ({error})"
            ) from None
        if not 0 <= score <= 1:
            raise DataError(f"score_answer gave {score}; a task returns a number from 0 to 1")
        return score

    def _write_decision(self, outputs: dict[str, Any]) -> str:
        """What users act on: the text, if it is one, else JSON."""
        values = list(pick_decision(outputs).values())
        if self._is_text and len(values) == 1:
            return str(values[0])
        return json.dumps(values)


def _unify_rounded(rows: "pd.DataFrame") -> "pd.Series":
    """The answers, where others of a row differ by rounding alone that of the first version."""
    answers = rows["answer"].astype(object)
    first = answers.groupby([rows["id"], rows["row"]], sort=False).transform("first")
    for place in answers.index[answers != first]:
        one, other = json.loads(first[place]), json.loads(answers[place])
        if is_same_answer(one, other, tolerance=ROUNDING):
            answers[place] = first[place]
    return answers.astype("category")
