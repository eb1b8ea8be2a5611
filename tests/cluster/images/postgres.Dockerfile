# Debian's PostgreSQL, started as the official image of compose.yaml is: same variables, same folder of scripts, same user.
ARG BASE
FROM ${BASE}
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres && \
    apt-get update && \
    apt-get install --yes --no-install-recommends postgresql-15 && \
    rm -rf /var/lib/apt/lists/* /var/lib/postgresql/* && \
    chown 999:999 /var/lib/postgresql
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
COPY start-postgres.sh /usr/local/bin/
USER 999:999
ENTRYPOINT ["start-postgres.sh"]
