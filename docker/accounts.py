"""Give the served model its own account on the MLflow server; it cannot change others' models."""

import os

from mlflow.exceptions import MlflowException
from mlflow.server.auth.client import AuthServiceClient


def main() -> None:
    """Create the account or set its password; MLFLOW_TRACKING_* are those of the administrator."""
    accounts = AuthServiceClient(os.environ["MLFLOW_TRACKING_URI"])
    name, password = os.environ["READER_NAME"], os.environ["READER_PASSWORD"]
    try:
        accounts.create_user(name, password)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
        accounts.update_user_password(name, password)


if __name__ == "__main__":
    main()
