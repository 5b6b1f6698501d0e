# Nova's commands. `make` alone lists them.

GO      ?= go
FUZZ    ?= 10s
TIMEOUT ?= 9m

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: check ## gofmt, vet and every test (what CI runs)
	$(GO) test -timeout $(TIMEOUT) ./...

.PHONY: check
check: ## gofmt and vet only
	@out="$$(gofmt -l .)"; test -z "$$out" || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...

.PHONY: lint
lint: check ## staticcheck, as pinned in go.mod
	$(GO) tool staticcheck ./...

.PHONY: race
race: ## every test under the race detector
	$(GO) test -race -timeout 20m ./...

.PHONY: bench
bench: ## nanoseconds and allocations an effect
	$(GO) test ./core -run '^$$' -bench . -benchmem

# Every fuzz target for FUZZ each, found by name: a new decoder needs no line here.
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ=10s each
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do \
	  for f in $$(grep -h '^func Fuzz' $$dir/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
	    echo "$$dir $$f"; $(GO) test $$dir -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ); \
	  done; done

.PHONY: clean
clean: ## remove what make has built and run
	rm -rf bin .nova
