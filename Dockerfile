# Everything built: llama.cpp v0.5.0 (for any x86-64 with AVX2, or arm64), tsampler, HTML and fuzzing.
#
#     docker build -t sampler-parity .
#     docker run --rm sampler-parity run parity/top_p
#     docker run --rm -v "$PWD:/work" sampler-parity run parity -b "mine=node my-adapter.mjs"
#
# An adapter in the folder may be in Python, JavaScript or TypeScript, or a program linked for Debian 12.

FROM node:24-bookworm-slim AS node
WORKDIR /tsampler
COPY engines/tsampler/ ./
RUN npm ci --silent && npx tsc

FROM python:3.13-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential cmake \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/sampler-parity
COPY . .
COPY --from=node /tsampler/dist engines/tsampler/dist
# The arguments of scripts/install.py, without instructions that only this processor has.
ENV CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF \
-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF"
# A short run checks the installation and keeps Numba's compiled code.
RUN python -m venv .venv \
    && .venv/bin/python scripts/install.py \
    && .venv/bin/sampler-parity run parity/top_p parity/dist -o /tmp/bundle \
    && .venv/bin/sampler-parity report /tmp/bundle -o /tmp/report \
    && rm -r /tmp/bundle /tmp/report

FROM python:3.13-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home sampler \
    && install --directory --owner sampler /work
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /opt/sampler-parity /opt/sampler-parity
USER 1000
WORKDIR /work
ENTRYPOINT ["/opt/sampler-parity/.venv/bin/sampler-parity"]
CMD ["--help"]
