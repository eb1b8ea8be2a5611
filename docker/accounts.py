"""Give the served model its own account on the MLflow server; it cannot change others' models.

Where CANARY_PASSWORD is set, a server with a canary has one that may edit CANARY_MODEL: it records
there the end of the journal to which it wrote a return.
"""

import os

from mlflow.exceptions import MlflowException
from mlflow.server.auth.client import AuthServiceClient

EXISTS = "RESOURCE_ALREADY_EXISTS"


def main() -> None:
    """Create the accounts or set their passwords; MLFLOW_TRACKING_* are the administrator's."""
    accounts = AuthServiceClient(os.environ["MLFLOW_TRACKING_URI"])
    set_account(accounts, os.environ["READER_NAME"], os.environ["READER_PASSWORD"])
    password = os.environ.get("CANARY_PASSWORD")
    if password:
        set_account(accounts, "canary", password)
        allow_edits(accounts, "canary", os.environ["CANARY_MODEL"])


def set_account(accounts: AuthServiceClient, name: str, password: str) -> None:
    """Create an account, or set the password of one that is there."""
    try:
        accounts.create_user(name, password)
    except MlflowException as error:
        if error.error_code != EXISTS:
            raise
        accounts.update_user_password(name, password)


def allow_edits(accounts: AuthServiceClient, name: str, model: str) -> None:
    """Let an account edit a registered model, which need not be there yet."""
    try:
        accounts.grant_user_permission(name, "registered_model", model, "EDIT")
    except MlflowException as error:
        if error.error_code != EXISTS:
            raise


if __name__ == "__main__":
    main()
