# Tsumugi. `make help` lists the targets. Every figure that we claim is the last line of one of them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO      ?= go
# The race detector needs a C compiler. It does not look into SQLite's own code, which is C made into Go: each connection is on one goroutine, its memory
# is none of Go's, and with it a statement takes many times as long. How we call it is looked at.
RACE    := $(if $(shell command -v $$($(GO) env CC)),-race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false)
MODULES := gen services/internal services/promptbuilder services/agent services/flowstore services/gateway services/tsumugi
OUTSIDE := services/agent/bench services/flowstore/bench services/promptbuilder/bench
# These work on one goroutine, and take minutes with the race detector.
SINGLE := /flowstore/internal/command /internal/llm/tokenizer
# These look at files of other modules, which Go's test cache does not see.
UNCACHED := ./services/internal/archtest/... ./services/tsumugi/e2e/...

.PHONY: help demo test check generate model lint vectors tokenizers crash bench session states fuzz build

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the programs into bin/
	@mkdir -p bin
	@$(GO) build -o bin/ ./services/tsumugi/cmd/... ./services/promptbuilder/cmd/... ./services/agent/cmd/... ./services/flowstore/cmd/... ./services/gateway/cmd/...

demo: build ## continue a story with a real model and show every step (MODEL_URL=, MODEL_KIND= for a server of yours; KEEP=1 leaves it running)
	@bin/tsumugi demo $(if $(MODEL_URL),--model-url "$(MODEL_URL)") $(if $(MODEL_KIND),--model-kind "$(MODEL_KIND)") $(if $(KEEP),--keep)

model: build ## put the small real models into the user's cache folder
	@bin/tsumugi model install

test: ## every test, with the race detector where a C compiler is found
ifeq ($(RACE),)
	@case ",$${TSUMUGI_NEED:-}," in *,race,*) echo "tests: TSUMUGI_NEED asks for the race detector, which needs a C compiler: install gcc or clang" >&2; exit 1;; esac
	@echo "tests: no C compiler found, so the race detector stays off"
endif
	@# With the race detector, which is many times slower, a property gets half of the draws that it gets without, and what works on one
	@# goroutine is left out.
	@RAPID_CHECKS=$${RAPID_CHECKS:-$(if $(RACE),50,100)} $(GO) test $(RACE) -timeout 20m $$($(GO) list work | grep -v -e /archtest -e /e2e $(if $(RACE),$(SINGLE:%=-e %)))
	@# The scenarios wait for models and clocks. What needs processors alone runs beside them.
	@$(MAKE) -j2 scenarios $(if $(RACE),without-race)
	@echo "tests: ok"

.PHONY: scenarios without-race
scenarios:
	@$(GO) test $(RACE) -count=1 -parallel 3 -timeout 30m $(UNCACHED)

without-race:
	@$(GO) test $(SINGLE:%=./services%)
	@GO="$(GO)" tools/withoutrace.sh

check: ## the fast loop: build, vet and test without race detector and model
	@$(GO) vet work
	@TSUMUGI_MODEL=off $(GO) test $$($(GO) list work | grep -v -e /archtest -e /e2e)
	@TSUMUGI_MODEL=off $(GO) test -count=1 ./services/internal/archtest/...
	@echo "check: ok"

generate: ## regenerate gen/ from proto/ (needs no network once the tools are built)
	@tools/generate.sh .
	@echo "generate: ok"

lint: ## vet, golangci-lint, buf, generated code, module files
	@tools/lint.sh "$(MODULES)" "$(OUTSIDE)"
	@echo "lint: ok"

DIR ?= $(wildcard $(or $(TSUMUGI_SHARED),../shared)/vectors)
vectors: ## story prompts against reference prompts: DIR= names the folder of a story.jsonl
	@test -n "$(DIR)" || { echo "vectors: no reference prompts at $(or $(TSUMUGI_SHARED),../shared)/vectors; name the folder of a story.jsonl with DIR=" >&2; exit 1; }
	@$(GO) run ./services/promptbuilder/vectors "$(DIR)"

tokenizers: ## our tokenizers against the PyPI package tokenizers, on 200,000 random texts (needs Python 3.10 or later with pip)
	@tools/tokenizers.sh

N ?= 1000
crash: build ## kill -9 under load N times, half of them flowstore and half an agent that changes files, restart, compare with what was acknowledged
	@set +e; $(MAKE) -j2 crash-flowstore crash-agent | \
	  awk '/^crash: [0-9]+ kills, [0-9]+ lost, [0-9]+ failed starts$$/ {kills += $$2; lost += $$4; starts += $$6; next} \
	       /^crash: failed$$/ {failed = 1; next} {print; fflush()} \
	       END {printf "crash: %d kills, %d lost, %d failed starts\n", kills, lost, starts; exit failed}'

# A run that fails says so in a line of its own: the sum is made of both.
.PHONY: crash-flowstore crash-agent
crash-flowstore:
	@$(GO) run ./services/flowstore/crash -n $$(($(N) / 2)) -binary bin/flowstore || echo "crash: failed"

crash-agent:
	@$(GO) run ./services/agent/crash -n $$(($(N) - $(N) / 2)) -binary bin/tsumugi || echo "crash: failed"

session: ## a novel and 60 turns of a story on a real model server, ours against seed 000 (a quarter of an hour; TEXT=file; ONLY=novel: a minute)
	@GOWORK=off $(GO) -C services/promptbuilder/bench run . $(if $(filter novel,$(ONLY)),-novel,-session) $(if $(TEXT),-text "$(abspath $(TEXT))")

states: ## every state of a session, in the large universes, too (seven minutes of a processor, 2.5 GB)
	@TSUMUGI_STATES=all $(GO) test -count=1 -timeout 60m -v -run '^TestEveryStateOfTheUniverse$$' ./services/agent/internal/session | \
	  awk '/explore_test.go/ {sub(/.*explore_test.go:[0-9]+: /, "")} /states, .* properties broken$$/ {last = $$0; next} /^(===|---|PASS|ok)/ {next} {print; fflush()} END {print "states: " last}'

bench: ## our operations against their peers, in one run (some rows have the small real model read for minutes, and install it)
	@set +e; for dir in $(OUTSIDE); do GOWORK=off $(GO) -C $$dir run . || echo "bench: 0 of 0 in $$dir failed" ; done | \
	  awk '/^bench: [0-9]+ of [0-9]+ at goal(, [0-9]+ not, with the reason)?$$/ {met += $$2; all += $$4; told += $$7; next} /^bench: 0 of 0/ {failed = 1; next} {print; fflush()} \
	       END {printf "bench: %d of %d at goal%s\n", met, all, told ? ", " told " not, with the reason" : ""; exit failed || met + told < all}'

T ?= 60s
fuzz: ## each fuzz target for T
	@tools/fuzz.sh "$(T)" "$(MODULES)"
