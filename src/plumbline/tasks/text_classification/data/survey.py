"""What must be known of a whole source before its first row is used."""

from collections import Counter, defaultdict

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data.label_sets import join_labels
from plumbline.tasks.text_classification.data.labels import MIN_ROWS, LabelNames, name_labels
from plumbline.tasks.text_classification.data.stratification import MAX_POINTS

MAX_CLASSES = 20_000  # with more, this is not a classification problem, whatever params say


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

    def add(self, place: str, labels: tuple[str, ...], point: float | None) -> None:
        """Count one row that can be used; `point` is None where its split is given.

        Raises DataError once there are far too many labels.
        """
        self._rows.update(labels)
        if len(self._rows) > MAX_CLASSES:
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
