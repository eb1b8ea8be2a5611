"""Readers of data that every task can use, whatever its rows mean.

`parts.locate_parts` turns the addresses under `data.source` into parts, and each part reads its
rows as often as they are needed. A task says which columns it wants with a `records.ReadRequest`.
Messages name the keys data.source, data.sha256 and data.policies.encoding of params.yaml: a task
that reads sources uses these keys.

    records        what every reader takes and gives
    columns        the wanted columns in a header, or what could be meant
    addresses      what an address is, and how it is shown
    shown_params   params.yaml without the secrets of addresses
    parts          from addresses to parts
    identities     what a remote source is today, so that a change is seen
    files          files on this machine, and pinned digests
    object_store   files behind s3://, gs:// and the like
    stores         file systems of fsspec that keep files
    request_folder the folder of logged requests
    http_download  files behind http(s)://
    sql_queries    rows of a SQL query
    hub_datasets   data sets of the Hugging Face hub
    formats        from an open file to rows, by the ending of its name
    byte_stream    bytes, decompressed and bounded
    text_lines     lines, decoded and bounded
    csv_files, jsonl_files, arrow_files   one module for each format
    csv_limits     the csv module's limit on cells, for all of plumbline
    shards         reads the shards that ingest wrote, each compared with their listing
    shard_writer   writes them; parquet_batches: rows for one Parquet file, in bounded memory
    shard_store    shards at an address, such as s3://bucket/folder; shard_copies: fetched ones
"""
