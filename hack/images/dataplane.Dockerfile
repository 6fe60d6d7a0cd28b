# The data plane's image: engine and agent on Debian 12 with DPDK's drivers.
#   docker build -f hack/images/dataplane.Dockerfile -t sinter-dataplane .
FROM docker.io/library/golang:1.26-bookworm AS agent
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN hack/images/binaries.sh "$VERSION" /root/usr/bin sinter-agent

FROM docker.io/library/debian:12-slim AS engine
RUN apt-get update && apt-get install -y --no-install-recommends \
    gcc libc6-dev meson ninja-build pkg-config libdpdk-dev libmd-dev libprotobuf-c-dev libhyperscan-dev protobuf-c-compiler
WORKDIR /src
COPY dataplane dataplane
RUN meson setup /build dataplane/engine --buildtype=release && ninja -C /build sinter-engine

FROM docker.io/library/debian:12-slim
COPY hack/images/dataplane.packages /tmp/
RUN apt-get update && grep -v '^#' /tmp/dataplane.packages | xargs apt-get install -y --no-install-recommends && \
    rm -rf /var/lib/apt/lists/* /tmp/dataplane.packages
COPY --from=agent /root /
COPY --from=engine /build/sinter-engine /usr/bin/
ENTRYPOINT ["/usr/bin/sinter-engine"]
