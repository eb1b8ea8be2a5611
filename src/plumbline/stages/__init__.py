"""The flow: how anything becomes a served model, one function a stage."""
