"""What must be known of a whole source before its first row is used."""

from collections import Counter, defaultdict

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data.label_sets import join_labels
from plumbline.tasks.text_classification.data.labels import MIN_ROWS, LabelNames, name_labels
from plumbline.tasks.text_classification.data.stratification import MAX_POINTS

MAX_CLASSES = 20_000  # with more, this is not a classification problem, whatever params say
# Two columns are swapped where most labels occur once, and there are fewer texts by this factor.
SWAPPED_RATIO = 3
MIN_LABELS = 20  # below, all of this can be chance
MAX_TEXTS = 2000  # of which as many differ, they are no labels


class SourceSurvey:
    """Labels as they are spelled, and where their rows are on the line that splits divide.

    Memory grows with the number of labels, not of rows: a label's points are kept up to MAX_POINTS.
    """

    def __init__(self) -> None:
        self.num_rows = 0  # all that were read
        self.notices: list[str] = []  # of readers
        self._rows: Counter[str] = Counter()
        self._points: defaultdict[str, set[float]] = defaultdict(set)
        self._dropped: Counter[str] = Counter()  # rows of labels, whose text is a null-like word
        self._texts: set[str] = set()  # of the first MAX_TEXTS that differ

    def add(self, place: str, labels: tuple[str, ...], digest: str, point: float | None) -> None:
        """Count one row that can be used; `point` is None where its split is given.

        Raises DataError once there are far too many labels.
        """
        self._rows.update(labels)
        if len(self._texts) < MAX_TEXTS:
            self._texts.add(digest)
        if len(self._rows) > MAX_CLASSES:
            self.check_columns()
            raise DataError(
                f"{place}: more than {MAX_CLASSES:,} different labels so far, "
                f"such as {join_labels(labels)[:40]!r}; is data.columns.label the right column?"
            )
        for label in labels:
            if point is not None and len(self._points[label]) < MAX_POINTS:
                self._points[label].add(point)

    def add_dropped(self, labels: tuple[str, ...], text: str | None) -> None:
        """Count a row that is dropped since its text looks like a missing value."""
        if text and not text.isspace():
            self._dropped.update(labels)

    def check_columns(self) -> None:
        """Raise DataError where the labels look like texts, and the texts like labels."""
        num_rows = self._rows.total()
        num_labels = len(self._rows)
        num_texts = len(self._texts)
        is_few = num_texts < MAX_TEXTS and SWAPPED_RATIO * num_texts <= num_labels
        if num_labels < MIN_LABELS or 2 * num_labels <= num_rows or not is_few:
            return
        raise DataError(
            f"data.columns.text and data.columns.label seem to be swapped: {num_rows:,} "
            f"rows have {num_texts:,} different texts and {num_labels:,} different labels, such as "
            f"{next(iter(self._rows))[:40]!r}; exchange the two names in params.yaml"
        )

    def check_classes(self) -> None:
        """Raise DataError where a class would vanish, since words are taken for missing texts."""
        for label, num_rows in self._dropped.items():
            if label not in self._rows and num_rows >= MIN_ROWS:
                raise DataError(
                    f"label {label!r}: the texts of all its {num_rows:,} rows look like missing "
                    "values (none, nil, - and the like), so the class would vanish; write such "
                    "texts in other words, or remove the rows"
                )

    def name_labels(self) -> LabelNames:
        """Decide on the name of each label."""
        return name_labels(self._rows)

    def collect_points(self, names: LabelNames) -> dict[str, set[float]]:
        """Map each class to the points of its rows; one of MAX_POINTS may have more."""
        classes: defaultdict[str, set[float]] = defaultdict(set)
        for label, points in self._points.items():
            name = names.names.get(label)
            if name is not None:
                classes[name] |= points
        return dict(classes)
