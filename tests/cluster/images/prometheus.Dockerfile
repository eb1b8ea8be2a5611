# Debian's Prometheus, with the file and the folder of the official image.
ARG BASE
FROM ${BASE}
RUN apt-get update && \
    apt-get install --yes --no-install-recommends prometheus && \
    rm -rf /var/lib/apt/lists/* && \
    install -d -o 65534 -g 65534 /prometheus
USER 65534:65534
ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
