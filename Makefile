# Everything a newcomer runs. `make help` lists it.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GO ?= go
# What is shipped links no C code, so that is what is tested; only the race
# detector needs it.
export CGO_ENABLED := 0
BIN := bin
PREFIX ?= /usr/local

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X github.com/sandboxfs/sandboxfs/internal/version.stamp=$(VERSION)

FUZZTIME ?= 5s

.PHONY: help build demo test unit race vet fmt-check staticcheck check fuzz-short bench provision install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the static binaries into bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/sandboxfs ./cmd/sandboxfsd

demo: build ## run the main job: data in, a script runs, the result comes out
	@scripts/demo.sh

test: provision build ## install what the tests need, then run everything
	GO='$(GO)' $(GO) run ./scripts/testrun

unit: ## run the tests that need no root, no Docker and no network
	$(GO) test -short -timeout 5m $$($(GO) list ./... | grep -v /test/)

race: ## run what can run under the race detector (needs gcc)
	GO='$(GO)' $(GO) run ./scripts/testrun -only race

vet: ## go vet, for both processors
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...

fmt-check: ## name the files that gofmt would change
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

staticcheck: ## run the pinned staticcheck
	$(GO) run $(STATICCHECK) ./...

check: fmt-check vet staticcheck ## the three static checks

fuzz-short: ## run each fuzz target for FUZZTIME (5s)
	GO='$(GO)' scripts/fuzz.sh '$(FUZZTIME)'

bench: provision build ## measure against the budgets, append to docs/BENCHMARKS.md
	$(GO) run ./scripts/bench -bin $(BIN) -append docs/BENCHMARKS.md

provision: ## as root, install the Debian packages that the tests need
	@scripts/provision.sh

install: build ## copy the binaries below PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(BIN)/sandboxfs $(BIN)/sandboxfsd $(DESTDIR)$(PREFIX)/bin/

clean: ## remove what build made
	rm -rf $(BIN)
