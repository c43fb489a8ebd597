# One image, two commands: `mooring` (the default, `mooring serve`) and `mooring-extender`.
# tests/house/test_packaging.py runs the RUN lines of the build stage in a clean virtual environment.
FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements requirements
RUN python -m venv /opt/mooring && \
    /opt/mooring/bin/pip install --require-hashes --only-binary :all: --requirement requirements/run.txt && \
    python -m venv /opt/build && \
    /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY protos protos
COPY server server
COPY adapters adapters
RUN /opt/build/bin/python -m build --wheel --no-isolation --outdir dist && \
    /opt/mooring/bin/pip install --no-deps --no-index --find-links dist mooring-scheduler

FROM python:3.11-slim
COPY --from=build /opt/mooring /opt/mooring
# Nothing is written at run time, so the root file system can be read-only.
ENV PATH=/opt/mooring/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
CMD ["mooring", "serve"]
