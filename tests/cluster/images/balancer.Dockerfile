# Debian's HAProxy.
ARG BASE
FROM ${BASE}
RUN apt-get update && \
    apt-get install --yes --no-install-recommends haproxy && \
    rm -rf /var/lib/apt/lists/*
COPY haproxy.cfg /etc/haproxy/haproxy.cfg
USER 10001:10001
ENTRYPOINT ["haproxy", "-db", "-f", "/etc/haproxy/haproxy.cfg"]
