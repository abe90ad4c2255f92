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

.PHONY: help build demo test unit race vet cross fmt-check staticcheck shellcheck vm-check check fuzz-short soak bench bench-quick provision install uninstall clean

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

cross: ## build for the other processor, and what a Mac gets
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/sandboxfs
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/sandboxfsd
	for arch in amd64 arm64; do \
		GOOS=darwin GOARCH=$$arch $(GO) build ./mapping ./provider || exit 1; \
		GOOS=darwin GOARCH=$$arch $(GO) vet ./cmd/sandboxfs || exit 1; \
		GOOS=darwin GOARCH=$$arch $(GO) build -o /dev/null ./cmd/sandboxfs || exit 1; \
	done

fmt-check: ## name the files that gofmt would change
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

staticcheck: ## run the pinned staticcheck
	$(GO) run $(STATICCHECK) ./...

shellcheck: ## run shellcheck over the shell scripts
	shellcheck $$(git ls-files -co --exclude-standard '*.sh') .ci/run

# A home of its own for vagrant, and no provider: none is needed to read a file.
vm-check: ## say whether the Vagrantfile is valid (needs vagrant, but no provider)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	VAGRANT_HOME=$$dir/home VAGRANT_DOTFILE_PATH=$$dir/dot VAGRANT_CHECKPOINT_DISABLE=1 vagrant validate --ignore-provider

check: fmt-check vet cross staticcheck ## the static checks that need Go alone

fuzz-short: ## run each fuzz target for FUZZTIME (5s)
	GO='$(GO)' scripts/fuzz.sh '$(FUZZTIME)'

# Each test that has a long form is called TestSoak..., in one of these.
SOAK := ./fs ./test/...

soak: build ## run the long forms of the tests, at most 20 minutes (root for all of it)
	SANDBOXFS_SOAK=1 timeout --foreground 20m $(GO) test -count=1 -p 1 -timeout 20m -v -run '^TestSoak' $(SOAK)

bench: provision build ## measure commands and filesystems, append to docs/BENCHMARKS.md
	$(GO) run ./scripts/bench -bin $(BIN) -append docs/BENCHMARKS.md
	$(GO) run ./scripts/bench/tree -bin $(BIN) -limit 6m30s -append docs/BENCHMARKS.md
	$(GO) run ./scripts/bench/tree -bin $(BIN) -limit 2m30s -user nobody -append docs/BENCHMARKS.md

bench-quick: build ## compare filesystems in under two minutes, print only
	@$(GO) run ./scripts/bench/tree -bin $(BIN) -quick

provision: ## as root, install the Debian packages and the Go that are missing
	@scripts/provision.sh

BINDIR = $(DESTDIR)$(PREFIX)/bin
SHARE = $(DESTDIR)$(PREFIX)/share
# The places of the completions in SHARE, and the shells.
COMPLETIONS = bash:bash-completion/completions/sandboxfs zsh:zsh/site-functions/_sandboxfs fish:fish/vendor_completions.d/sandboxfs.fish

install: build ## put both programs and the completions below PREFIX (/usr/local), and DESTDIR
	install -d "$(BINDIR)"
	install -m 0755 $(BIN)/sandboxfs $(BIN)/sandboxfsd "$(BINDIR)/"
	@for c in $(COMPLETIONS); do \
		$(BIN)/sandboxfs completion "$${c%%:*}" >$(BIN)/completion && \
		install -D -m 0644 $(BIN)/completion "$(SHARE)/$${c#*:}" || exit 1; \
	done; rm -f $(BIN)/completion

uninstall: ## remove what install put there; data and running sandboxes stay
	rm -f "$(BINDIR)/sandboxfs" "$(BINDIR)/sandboxfsd"
	@for c in $(COMPLETIONS); do rm -f "$(SHARE)/$${c#*:}"; done

clean: ## remove what build made
	rm -rf $(BIN)
