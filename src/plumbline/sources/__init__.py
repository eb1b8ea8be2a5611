"""Readers of data that every task can use, whatever its rows mean.

`parts.locate_parts` turns the addresses under `data.source` into parts, and each part reads its
rows as often as they are needed. A task says which columns it wants with a `ReadRequest` of the
room `tables`, which reads the formats.
Messages name the keys data.source, data.sha256 and data.policies.encoding of params.yaml: a task
that reads sources uses these keys.

    addresses      what an address is, and how it is shown
    shown_params   params.yaml without the secrets of addresses
    parts          from addresses to parts; source_part: what one gives
    identities     what a remote source is today, so that a change is seen
    files          files on this machine, and pinned digests
    object_store   files behind s3://, gs:// and the like
    stores         file systems of fsspec that keep files
    request_folder the folder of logged requests
    http_download  files behind http(s)://
    sql_queries    rows of a SQL query
    hub_datasets   data sets of the Hugging Face hub
"""
