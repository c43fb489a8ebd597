# One image, two commands: `mooring`, which shows itself on a sample cluster unless it is told what to do, and `mooring-extender`.
# tests/house/test_packaging.py runs the RUN lines of the build stage in a clean virtual environment.
# A digest behind the tag, python:3.11-slim@sha256:..., makes the image the same whenever it is built.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
# fast: with the extra of that name, numba, which is 210 MB. run: without.
ARG REQUIREMENTS=fast
ENV PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements requirements
# Of the kubernetes package mooring reads the configuration. Its models and APIs are imported when code names them, which none does.
RUN python -m venv /opt/mooring && \
    /opt/mooring/bin/pip install --require-hashes --only-binary :all: --requirement requirements/${REQUIREMENTS}.txt && \
    rm -r /opt/mooring/lib/python3*/site-packages/kubernetes/aio && \
    find /opt/mooring/lib/python3*/site-packages/kubernetes/client/api /opt/mooring/lib/python3*/site-packages/kubernetes/client/models \
        -type f ! -name '__init__.*' -delete && \
    python -m venv /opt/build && \
    /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY protos protos
COPY clients/python clients/python
COPY server server
COPY adapters adapters
RUN /opt/build/bin/python -m build --wheel --no-isolation --outdir dist clients/python && \
    /opt/build/bin/python -m build --wheel --no-isolation --outdir dist && \
    /opt/mooring/bin/pip install --no-deps --no-index --find-links dist mooring-scheduler mooring-client && \
    NUMBA_CPU_NAME=generic /opt/mooring/bin/python -c \
        'import mooring.runtime.assembly, mooring.kernels.compile as loops; loops.compile_ahead(loops.FEWEST_NODES)'

FROM ${BASE}
COPY --from=build /opt/mooring /opt/mooring
# Nothing is written at run time, so the root file system can be read-only. Loops were compiled for all CPUs of the architecture.
ENV NUMBA_CPU_NAME=generic PATH=/opt/mooring/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 50051 50052 50053 8888 50054
ENTRYPOINT ["mooring"]
CMD ["run", "--insecure-listen", "--listen=0.0.0.0:50051", "--health-listen=0.0.0.0:50052", "--metrics-listen=0.0.0.0:50053", "--extender-listen=0.0.0.0:8888", "--web-listen=0.0.0.0:50054"]
