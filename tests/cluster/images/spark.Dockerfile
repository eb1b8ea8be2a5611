# The training image with Java and Spark: a master, a worker, and who gives them work.
FROM plumbline-train
USER 0:0
COPY requirements-spark.lock /tmp/
RUN apt-get update && \
    apt-get install --yes --no-install-recommends default-jre-headless && \
    rm -rf /var/lib/apt/lists/* && \
    /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement /tmp/requirements-spark.lock
