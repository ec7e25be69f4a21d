# whichfs: make run measures in the lab and writes a page, make test tests all of
# it, make soak kills it a thousand times.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := build

GO ?= $(shell command -v go || echo /usr/local/go/bin/go)
VERSION := $(shell git describe --always --abbrev=10 --dirty 2>/dev/null || cat VERSION 2>/dev/null || echo unknown)
SOURCES := go.mod go.sum $(shell find cmd internal docs -path '*/testdata' -prune -o -type f \( -name '*.go' -not -name '*_test.go' -o -name '*.gohtml' -o -name '*.css' -o -name '*.js' -o -name '*.sql' -o -name '*.toml' -o -name '*.patch' -o -name '*.config' -o -name 'known.txt' -o -path 'docs/*.md' -o -path '*/completion/*' -o -path '*/generated/profiles/*.json' \) -print)
COMMIT := $(shell git show -s --format=%H 2>/dev/null)
COMMIT_DATE := $(shell TZ=UTC0 git show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
BUILD := whichfs/internal/sys/build
LDFLAGS := -s -w -X $(BUILD).version=$(VERSION) -X $(BUILD).commit=$(COMMIT) -X $(BUILD).date=$(COMMIT_DATE)
# As long for every version: where programs and data lie in a guest's memory has
# a part in what its kernel does, and so in figures that repeat to the last bit.
AGENT_LDFLAGS := -s -w -X "main.stamp=whichfs-agent version $(shell printf '%-32.32s' '$(VERSION)' | tr ' ' .)"
AGENTS := $(foreach a,amd64 arm64 arm armv5 riscv64 mips mipsle ppc64 ppc64le,bin/whichfs-agent-linux-$(a))
QUICK ?= bootlin-2023 --quick
KILLS ?= 1000
SOAK ?= $(KILLS)
SEED ?=
ONLY ?=
# When a test counts as hanging; it bounds no speed.
HANG := 150m
TEST := $(GO) test -exec $(CURDIR)/scripts/own-mounts -vet=off -count=1 -timeout $(HANG) -v
# Simulations and judgements that start no goroutine (lint holds them to it): the
# race detector finds nothing in them, and takes up to eight times as long.
ALONE := $(addprefix whichfs/internal/,flash/flashtest flash host/dataset plan/tree/generated judge/stats judge/verdict plan/tree/texture flash/twin flash/models fault/states)
# Nor in SQLite, which is translated from C and takes three times as long, in the models of flash, which are among the
# above, and in compressing. What calls them is compiled for the detector. A package that uses maps of sync or generic
# types with atomic fields cannot be among them: its copies of their code do not tell the detector what they order, and
# the linker takes any copy for all packages, which then seem to race.
UNTRACED := $(foreach p,modernc.org/sqlite/lib modernc.org/libc whichfs/internal/flash compress/flate,-gcflags=$p=-race=false)
# These take longest, so they begin first.
LONG := $(addprefix whichfs/,internal/host/machine/qemu internal/host/machine/usermode cmd/whichfs internal/host/machine/board internal/target/storage internal/target/workload internal/host/machine internal/result/store internal/host/crash internal/bench internal/report)

export CGO_ENABLED := 0
export GOFLAGS := -buildvcs=false -trimpath

.PHONY: build run fleet-demo board-demo check test test-guests test-alone soak bench lint agents clean presubmit packages-run packages-test packages-bench packages-dist dist dist-test contrib-test FORCE

build: bin/whichfs bin/whichfs-agent

# Agents of another version are refused: all programs are built anew where it changes.
bin/version: FORCE
	@mkdir -p bin; echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' >$@
FORCE:

bin/whichfs: $(SOURCES) bin/version
	$(GO) build -ldflags '$(LDFLAGS)' -o $@ ./cmd/whichfs

bin/whichfs-agent: $(SOURCES) bin/version
	$(GO) build -ldflags '$(AGENT_LDFLAGS)' -o $@ ./cmd/whichfs-agent

# One static agent for every architecture that boards have; armv5 is arm for old ones.
bin/whichfs-agent-linux-%: $(SOURCES) bin/version
	GOOS=linux GOARCH=$(patsubst armv5,arm,$*) GOARM=$(if $(filter armv5,$*),5,7) GOMIPS=softfloat $(GO) build -ldflags '$(AGENT_LDFLAGS)' -o $@ ./cmd/whichfs-agent

agents: $(AGENTS)
	@for f in $(AGENTS); do s=$$(stat -c %s $$f); \
	  echo "$$f: $$s bytes"; [ $$s -le 10485760 ] || { echo "$$f is larger than 10 MiB" >&2; exit 1; }; done

# What is published: packages, archives, checksums, in out/dist. Read scripts/dist.
dist:
	@scripts/dist

# The packages on bare systems: installed, run, removed; takes root and a mirror of Debian.
dist-test: packages-dist
	@scripts/dist-test

# contrib, read by the linters of Yocto and (BUILDROOT=DIR) of Buildroot; takes PyPI.
contrib-test: packages-dist
	@scripts/contrib-test $(BUILDROOT)

# print-NAME: the value of a variable, for scripts/dist.
print-%:
	@printf '%s\n' '$($*)'

run: packages-run build
	@mkdir -p out
	bin/whichfs lab build --virtual
	bin/whichfs run $(QUICK) --clock virtual --html out/report.html

# Two workers on this machine share a run through a database: docs/fleet.md.
fleet-demo: packages-test build
	bin/whichfs lab build --virtual
	@QUICK='$(QUICK)' scripts/fleet-demo

# A board that QEMU emulates, arm64 over ssh or armhf at a serial line: docs/boards.md.
board-demo: packages-test build agents
	@PATH=$(dir $(GO)):$$PATH scripts/board-demo $(or $(BOARD),arm64)

# What a change needs to know within 90 seconds: all tests but those that need a
# guest, root's devices or a browser (internal/testing/needs).
check: lint
	$(GO) test -vet=off -short -timeout $(HANG) ./...

# The detector sleeps a second when a program ends, in case others are not done:
# the tests start thousands of programs.
test: export GORACE := atexit_sleep_ms=0
test: export WHICHFS_BIN := $(CURDIR)/bin
test: packages-test build agents lint
	@mkdir -p out
	@# Compiling them keeps all processors busy for minutes.
	bin/whichfs lab build --virtual
	bin/whichfs lab build --virtual --counting
	@{ failed=0; $(MAKE) -s -k -j 2 test-guests test-alone || failed=1; cat out/alone.log; exit $$failed; } 2>&1 | \
	  tee out/test.log | grep --line-buffered -E '^(ok|FAIL|panic|\s*--- (FAIL|SKIP)|#|.*\.go:[0-9]+:[0-9]+:)' || { scripts/failures out/test.log | head -400; exit 1; }
	@# An ordinary user's skip what takes root; that of accessibility takes a network, and CI has one.
	@if grep -E '^\s*--- SKIP' out/test.log | grep -v TestInABrowser/accessibility && [ $$(id -u) -eq 0 ]; then echo "a test was skipped: every test must run here" >&2; exit 1; fi

test-guests: export CGO_ENABLED := 1
test-guests:
	$(TEST) -p 3 -race $(UNTRACED) $(LONG) $(filter-out $(ALONE) $(LONG),$(shell $(GO) list ./...))

# These keep a processor busy while guests wait.
test-alone:
	$(TEST) -p 1 $(ALONE) >out/alone.log 2>&1

# What a failing kill prints ends with the SEED and the ONLY that repeat it.
soak: packages-test build
	@mkdir -p out
	WHICHFS_BIN=$(CURDIR)/bin WHICHFS_SOAK=$(SOAK) WHICHFS_SOAK_SEED=$(SEED) WHICHFS_SOAK_ONLY=$(ONLY) \
	  nice $(GO) test -exec $(CURDIR)/scripts/own-mounts -count=1 -timeout 0 -v -run '^TestSoak$$' ./cmd/whichfs 2>&1 | tee out/soak.log

lint:
	@mkdir -p out
	@test -z "$$(gofmt -l cmd internal docs)" || { gofmt -l cmd internal docs; echo "not formatted: gofmt -w the files above" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=tools.mod depguard ./...
	@# A source that make does not know would leave an old program in bin.
	@$(GO) list -deps -f '{{$$d := .Dir}}{{with .Module}}{{if .Main}}{{range $$.GoFiles}}{{$$d}}/{{.}}{{"\n"}}{{end}}{{range $$.EmbedFiles}}{{$$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}' ./cmd/whichfs ./cmd/whichfs-agent | sed -n 's|^$(CURDIR)/||p' | sort >out/sources.txt
	@test -s out/sources.txt && missing=$$(printf '%s\n' $(SOURCES) | sort | comm -13 - out/sources.txt) && [ -z "$$missing" ] || { echo "not among SOURCES in the Makefile: $$missing" >&2; exit 1; }
	@# What is closed by defer was only read, or is synced elsewhere.
	@$(GO) tool -modfile=tools.mod errcheck -ignoretests -exclude .errcheck ./... >out/errcheck.txt || [ $$? -eq 1 ] || { cat out/errcheck.txt >&2; exit 1; }
	@! grep -v '	defer ' out/errcheck.txt || { echo "errors are not looked at: see above" >&2; exit 1; }

	@! grep -rnE '\b[tb]s?\.Skip' --include='*.go' cmd internal | grep -v ^internal/testing/needs/ || { echo "tests are skipped by internal/testing/needs alone" >&2; exit 1; }
	@! grep -nE '^\s*go |\.Go\(' $(foreach p,$(ALONE:whichfs/%=%),$(wildcard $(p)/*.go)) || { echo "goroutines in what make test runs without the race detector" >&2; exit 1; }

bench: packages-bench build $(AGENTS)
	$(GO) run ./cmd/whichfs-bench

presubmit: test

packages-run packages-test packages-bench packages-dist: packages-%:
	@scripts/packages $*
	@[ $* != test ] || scripts/axe-core

clean:
	rm -rf bin out
