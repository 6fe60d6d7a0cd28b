# The operator's image: two static binaries and a user to run them, nothing else.
#   docker build -f hack/images/operator.Dockerfile -t sinter-operator .
FROM docker.io/library/golang:1.26-bookworm AS build
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN hack/images/binaries.sh "$VERSION" /root/usr/bin sinter-operator sinter-smoke
RUN hack/images/users.sh /root

FROM scratch
COPY --from=build /root /
USER 65532:65532
ENTRYPOINT ["/usr/bin/sinter-operator"]
