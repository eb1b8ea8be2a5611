"""Every table of the outside is read here, by all doors: ingest, init, score, drift, the server.

records        what who asks for rows says and gets
batches        what every table gives
columns        the wanted columns in a header, or what could be meant
formats        from an open file to a table or rows, by the ending of its name
byte_stream    bytes, decompressed and bounded
text_lines     lines, decoded and bounded
csv_files, jsonl_files, arrow_files   one module for each format
parquet_batches   one Parquet file, in bounded memory
split_files    the rows of a split in numbered Parquet files
rows           rows of any number, asked by SQL of DuckDB
manifest_file  the manifest
manifests      what changed between two manifests
"""
