# Nova's commands. `make` alone lists them.

GO      ?= go
DATA    ?= .nova/demo
INPUT   ?= $(sort $(wildcard testdata/demo/*.txt))
SEEDS   ?= 1000
FUZZ    ?= 10s
TIMEOUT ?= 9m

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## the demo: the whole life of streams made of testdata/demo, in DATA=.nova/demo
	bin/nova demo --data $(DATA) $(foreach f,$(INPUT),--input $(f))

.PHONY: build
build: ## bin/nova
	$(GO) build -o bin/nova ./cmd/nova

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

.PHONY: sim
sim: ## SEEDS=1000 whole clusters under faults, cut at every crash point; the laws checked after every effect
	$(GO) run ./sim/cmd/novasim run -seeds 0..$(SEEDS) -all -cover

.PHONY: explore
explore: ## every small world, in every order of events
	$(GO) run ./sim/cmd/novasim explore -parallel 2

.PHONY: mutants
mutants: ## plant each known bug: on three ranges of seeds every one must break a law that it names (half an hour or so)
	$(GO) run ./sim/cmd/novasim mutants

.PHONY: sweep
sweep: ## strike each duty at every pair of its effects (an hour or so)
	$(GO) test ./scenarios/script -run 'Pair|ErrorAndCut' -pairs -v -timeout 6h

.PHONY: bench
bench: ## an effect's cost, effects a second under the laws, settling beside a plain copy
	$(GO) test ./core -run '^$$' -bench . -benchmem
	$(GO) test ./bench -run '^$$' -bench . -benchtime 5x -timeout 20m
	$(GO) test ./sim/explore -run '^$$' -bench Walk -benchtime 100000x
	$(GO) test ./sim/explore -run '^$$' -bench Search -benchtime 1x

# Every fuzz target for FUZZ each, found by name: a new decoder needs no line here.
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ=10s each
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do \
	  for f in $$(grep -h '^func Fuzz' $$dir/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
	    echo "$$dir $$f"; $(GO) test $$dir -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ); \
	  done; done

.PHONY: soak
soak: ## the demo killed ten times, five million keys verified, then the conformance suite against SeaweedFS (its first build takes half an hour)
	$(GO) test ./cmd/nova -run '^TestDemoSurvivesKills$$' -count 1 -timeout 20m -v -kills 10
	$(GO) test ./prod/daemon -run '^$$' -bench VerifyFiveMillion -benchtime 1x -timeout 60m
	$(GO) test ./sim -run '^TestRandomPlans$$' -count 1 -timeout 60m -random 20000
	GO=$(GO) scenarios/seaweed.sh

.PHONY: clean
clean: ## remove what make has built and run
	rm -rf bin .nova
