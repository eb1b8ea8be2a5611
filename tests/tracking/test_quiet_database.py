"""What a database refuses is raised, and no library prints a traceback beside it."""

import logging

import pytest

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.tracking import mlflow_client

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


def test_a_full_disk_prints_no_traceback(
    tracked_line: tuple[Params, Task], capfd: pytest.CaptureFixture[str]
) -> None:
    import sqlalchemy
    from mlflow.exceptions import MlflowException
    from mlflow.store.db.utils import _get_managed_session_maker
    from sqlalchemy.orm import sessionmaker

    mlflow_client.connect()
    engine = sqlalchemy.create_engine("sqlite://")
    make_session = _get_managed_session_maker(sessionmaker(bind=engine), "sqlite")
    with pytest.raises(MlflowException, match="full"), make_session():
        raise sqlalchemy.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))
    engine.dispose()
    logging.getLogger("sqlalchemy.pool.impl").error("no line", exc_info=True)
    assert "Traceback" not in capfd.readouterr().err
