"""Errors of stores, as one line."""

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from plumbline.tracking.store_location import shorten_error


class Base(DeclarativeBase):
    pass


class Row(Base):
    __tablename__ = "rows"
    id: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[str]


def test_a_full_disk_is_named_where_sqlalchemy_advises_first() -> None:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.execute(text("PRAGMA max_page_count = 3"))
        session.add(Row(value="x" * 100_000))
        with pytest.raises(OperationalError) as full:
            session.query(Row).all()
    assert str(full.value).startswith("(raised as a result of Query-invoked autoflush")
    assert "database or disk is full" in shorten_error(full.value)
    assert shorten_error(ValueError("")) == "ValueError"
