#!/bin/bash
# Serve the folders of /var/lib/garage as buckets, to who has the key.
set -euo pipefail
mkdir -p "/var/lib/garage/$GARAGE_DEFAULT_BUCKET"
exec rclone serve s3 --addr=:3900 --auth-key="$GARAGE_DEFAULT_ACCESS_KEY,$GARAGE_DEFAULT_SECRET_KEY" /var/lib/garage
