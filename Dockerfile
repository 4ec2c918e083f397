FROM python:3.13-slim

# git is what workspaces are looked after with.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*

COPY pyproject.toml README.md LICENSE /source/
COPY nonoka /source/nonoka
COPY workers /source/workers
RUN pip install --no-cache-dir "/source[metrics,redis]" && rm -rf /source

RUN useradd --create-home --uid 1000 nonoka && install -d -o nonoka -g nonoka -m 0700 /project
USER nonoka
WORKDIR /project
VOLUME /project

CMD ["nonoka", "worker"]
