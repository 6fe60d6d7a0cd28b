# `make demo` and `make test` set up all they need; see `make help`.

export PATH := $(CURDIR)/bin:$(CURDIR)/.deps/go/bin:$(PATH)
SHELL := /bin/bash -o pipefail

ENGINE   := dataplane/engine
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 5m

.PHONY: help
help: ## This text.
	@awk -F ':.*## ' '/^## / { print "\n" substr($$0, 4) } /^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## The two that you want first

.PHONY: demo
demo: deps build ## A chain on real packets between network namespaces (root).
	hack/demo.sh

.PHONY: test
test: deps ## Everything that must pass (root for the namespace tests).
	hack/test.sh

.PHONY: chart-tools
chart-tools: bin/.chart-tools
bin/.chart-tools: hack/chart/go.mod hack/chart/go.sum hack/chart/tools.sh
	hack/chart/tools.sh
	@touch $@

## Building

.PHONY: deps
deps: ## Install the Debian packages and the Go that are missing (root).
	@hack/install-deps.sh

# All tools in one build: they share most of their dependencies.
.PHONY: tools
tools: bin/.tools ## Build the pinned tools of hack/tools/go.mod into bin/.
bin/.tools: hack/tools/go.mod hack/tools/go.sum
	cd hack/tools && go build -o $(CURDIR)/bin/ tool
	@touch $@

.PHONY: generate
generate: tools ## Regenerate CRDs, deepcopy and protobuf code.
	go generate ./...

.PHONY: build
build: engine sinterctl operator ## Build the engine, bin/sinterctl, bin/sinter-operator and bin/sinter-agent.

.PHONY: operator
operator:
	go build -ldflags '-X main.version=$(VERSION)' -o bin/ ./cmd/sinter-operator ./cmd/sinter-agent

.PHONY: sinterctl
sinterctl:
	go build -ldflags '-X main.version=$(VERSION)' -o bin/sinterctl ./cmd/sinterctl
	@ln -sf sinterctl bin/kubectl-sinter

.PHONY: engine
engine: $(ENGINE)/build/build.ninja
	ninja -C $(ENGINE)/build --quiet
$(ENGINE)/build/build.ninja:
	meson setup $(ENGINE)/build $(ENGINE) --buildtype=release -Dmarch=native $(REPLAY)

# With the replay device, if hack/dpdk-source.sh has fetched what its driver needs.
REPLAY = $(if $(wildcard .deps/dpdk),-Ddpdk_source=$(CURDIR)/.deps/dpdk)
.PHONY: dpdk-source
dpdk-source: deps
	@hack/dpdk-source.sh >/dev/null || echo "no DPDK sources: the replay device is not built, nor tested"

.PHONY: engine-asan
engine-asan: $(ENGINE)/build-asan/build.ninja
	ninja -C $(ENGINE)/build-asan --quiet
$(ENGINE)/build-asan/build.ninja:
	CC=clang meson setup $(ENGINE)/build-asan $(ENGINE) --buildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false $(REPLAY)

.PHONY: images
images: deps ## Both images as OCI archives in bin/images/, without a container engine (root).
	hack/images/build.sh

.PHONY: push
push: ## Build both images and push them to REGISTRY, as registry.example.com/sinter; PUSH_FLAGS go to skopeo (root).
	@hack/images/push.sh "$(REGISTRY)" $(PUSH_FLAGS)

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin $(ENGINE)/build $(ENGINE)/build-asan $(ENGINE)/build-fuzz

## Checking: the parts of `make test`

.PHONY: lint
lint: tools ## Formatting and lint of Go and C.
	hack/test.sh format lint

.PHONY: test-go
test-go: ## Go unit tests, but those of packages that test-envtest runs.
	hack/test.sh unit

.PHONY: test-engine-asan
test-engine-asan: ## Engine tests under AddressSanitizer and UBSan.
	hack/test.sh engine-asan

.PHONY: test-envtest
test-envtest: ## The operator against an API server and an etcd, built on first use (minutes).
	hack/test.sh envtest

.PHONY: test-chart
test-chart: chart-tools ## The Helm chart and the kustomize layout.
	hack/test.sh chart

.PHONY: test-suites
test-suites: build ## Suites across packages: engine against oracle, network namespaces.
	hack/test.sh suites netns

## Before a release: what `make test` leaves out

.PHONY: test-full
test-full: deps ## The same with the long form of the suites, on other chains each time (root, an hour).
	hack/test.sh --long

.PHONY: soak
soak: deps build ## A chain in floods and swaps for HOURS (2): no packet without a fate, no memory lost; the report becomes docs/soak.md (root).
	SINTER_SOAK=$(or $(HOURS),2)h SINTER_SOAK_PAGE=$(CURDIR)/docs/soak.md go test ./test/soak -count=1 -timeout 0 -v

.PHONY: test-oldest
test-oldest: deps chart-tools engine ## The tests of test-envtest, with the API server of the oldest Kubernetes that is supported (minutes).
	hack/test.sh oldest

.PHONY: e2e
e2e: cluster-tools sinterctl ## The end-to-end suite on the cluster (root, minutes).
	hack/cluster/e2e.sh -v

.PHONY: readme
readme: deps ## Follow README.md word for word, in a clean clone: one machine, a cluster with a registry (root; half an hour where no cluster was built).
	hack/readme/follow.sh

.PHONY: e2e-sriov
e2e-sriov: ## Chains on VFs of the guest that sriov-node starts; then guest and cluster are taken down (KEEP=1: they stay).
	hack/sriov/e2e.sh -v

.PHONY: seeds
seeds: deps ## Engine against oracle on the random chains of SEEDS ("17 18"; else ten new ones): a minute each.
	SEEDS="$(SEEDS)" hack/test.sh seeds

.PHONY: networks
networks: engine ## Engine against oracle on NETWORKS (400) random networks of routers, and five times as many chains compiled and loaded.
	SINTER_NETWORKS=$(or $(NETWORKS),400) go test ./test/differential/suites/router ./test/differential/suites/programs -count=1 -timeout 4h -run 'NetworksOfRouters|LoopsThatPacketsTake|AgreeOnRandomChains' -v

.PHONY: limits
limits: engine ## Engine against oracle on LIMITS (32) random chains with rate limiters: over a million packets.
	SINTER_LIMITS=$(or $(LIMITS),32) go test ./test/differential/suites/limits -count=1 -timeout 4h -run 'TestLimiters|TestSubscribers' -v

.PHONY: balancers
balancers: engine ## Engine against oracle on BALANCERS (32) random chains with load balancers: over a million packets.
	SINTER_BALANCERS=$(or $(BALANCERS),32) go test ./test/differential/suites/stateful -count=1 -timeout 4h -run 'TestBalancers|TestABalancer' -v

.PHONY: inspect
inspect: engine ## Engine against oracle on INSPECT (32) random chains with inspections: over a million packets.
	SINTER_INSPECT=$(or $(INSPECT),32) go test ./test/differential/suites/inspect -count=1 -timeout 4h -run TestInspections -v

.PHONY: stateful
stateful: engine ## Engine against oracle on STATEFUL (32) random chains with stateful firewalls: over a million packets.
	SINTER_STATEFUL=$(or $(STATEFUL),32) go test ./test/differential/suites/stateful -count=1 -timeout 4h -run 'TestStateful' -v

.PHONY: connections
connections: engine ## Engine against oracle on CONNECTIONS (32) random chains with limiters of connections: over a million packets.
	SINTER_CONNECTIONS=$(or $(CONNECTIONS),32) go test ./test/differential/suites/limits -count=1 -timeout 4h -run 'TestConnectionLimiters|TestLimit' -v

.PHONY: stops
stops: engine ## Engine against oracle on STOPS (32) random chains of each shape with functions outside of them: over a million packets.
	SINTER_STOPS=$(or $(STOPS),32) go test ./test/differential/suites/stops -count=1 -timeout 4h -run 'TestStops' -v

.PHONY: homes
homes: engine ## Engine against oracle on HOMES (32) random chains with port forwards and static translations: over a million packets.
	SINTER_HOMES=$(or $(HOMES),32) go test ./test/differential/suites/napt -count=1 -timeout 4h -run 'TestFixedTranslations' -v

.PHONY: conformance
conformance: build ## Chains beside the Linux kernel: 400,000 packets, compared field by field (root, minutes).
	go test ./test/conformance -count=1 -timeout 60m -v -packets 400000 -seed $${SEED:-$$(date +%s)}

.PHONY: mutants
mutants: deps tools ## Put known defects into a copy of the code, and see that the tests of `make test` find them (half an hour).
	hack/mutants/run.py

.PHONY: fuzz
fuzz: ## Each fuzz target for FUZZTIME (5m).
	hack/fuzz.sh $(FUZZTIME)

.PHONY: bench-check
bench-check: deps build ## Fail if a row of docs/bench/results.json got slower by more than 3 % (root, minutes; on the machine that made it).
	hack/bench.sh -check docs/bench/results.json

## Figures

.PHONY: bench
bench: deps build ## Cycles per packet, beside DPDK's own programs, the kernel and Open vSwitch: tables and plots into docs/bench/ (root, an hour).
	hack/bench.sh -all -out docs/bench

.PHONY: bench-short
bench-short: deps build ## All that bench measures, one pass of a row of each kind, into no report (root, minutes): for CI.
	out=$$(mktemp -d) && hack/bench.sh -all -short -out $$out; code=$$?; rm -rf $$out; exit $$code

.PHONY: bench-drawn
bench-drawn: deps build ## ROWS (60) random rows of firewalls beside their functions one by one, into docs/bench/drawn.md; SETS names a folder of other rule sets (root, half an hour).
	hack/bench.sh -drawn $(or $(ROWS),60) -passes 1 -sets "$(SETS)" -out docs/bench

.PHONY: bench-wires
bench-wires: deps build ## What functions on wires cost in the engine, into docs/bench/wires.md (root, minutes).
	hack/bench.sh -wires -out docs/bench

.PHONY: simulate
simulate: ## Scaling policies on 2,100 simulated chains: docs/scaling.md, figures and plots (minutes).
	go run ./hack/sim/scaling -out docs

.PHONY: simulate-placement
simulate-placement: ## Placement on 1,024 simulated nodes: docs/placement.md and its plots.
	go run ./hack/sim/placement -out docs

## A cluster on this machine, as docs/cluster.md says

.PHONY: cluster-tools
cluster-tools: deps chart-tools
	@hack/install-deps.sh libseccomp-dev openssl
	@hack/cluster/binaries.sh >/dev/null

.PHONY: cluster
cluster: cluster-tools ## A real Kubernetes of one node, with both images loaded (root; the first time half an hour).
	hack/cluster/cluster.sh up
	hack/cluster/images.sh
	@hack/cluster/hints.sh

.PHONY: cluster-down
cluster-down: ## Take the cluster down; nothing of it is left.
	hack/cluster/cluster.sh down

.PHONY: demo-cluster
demo-cluster: cluster ## A chain on the cluster, from helm install to kubectl describe under real traffic (root).
	hack/cluster/demo.sh

## A node with SR-IOV, as docs/sriov.md says

.PHONY: sriov-node
sriov-node: cluster ## A guest with a card that has VFs joins the cluster (root, QEMU; the first time minutes more).
	hack/sriov/node.sh up

.PHONY: sriov-node-down
sriov-node-down: ## Take the guest down; the cluster stays.
	hack/sriov/node.sh down
