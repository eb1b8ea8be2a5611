# The base image of docker/*.Dockerfile, with this machine's certificates and extra wheels, where no registry of images is reachable.
FROM docker.io/library/python:3.11-slim-bookworm
COPY certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY wheels /extra-wheels
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
