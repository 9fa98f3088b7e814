# Every target does its own set-up from Python 3.11+, pip and make alone.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: venv demo demo-many test test-long test-languages simulate datc test-postgresql test-corpora test-browser test-clone test-pythons pictures coverage mutation night docs check size catalogue lock materials manual release release-check bench clean

venv: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("pbem needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index -e .
	touch $@

# GAME=spaceships, dueling-masters or shoot-em-up; SEALED=1: matches of all three, or of GAME, in which the server holds no secret
GAME ?=
SEALED ?=

demo: venv
	PYTHONPATH=tests $(BIN)/python -m demo $(if $(GAME),--game $(GAME)) $(if $(SEALED),--sealed)

# Three servers that share a store in PostgreSQL (Debian's, installed if there is none), one of which is killed.
demo-many: venv
	.ci/postgresql sh -c 'PYTHONPATH=tests $(BIN)/python -m demo $(if $(GAME),--game $(GAME)) --servers 3 --store "$$PBEM_TEST_POSTGRESQL"'

check: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings --format=unix templates/pages tests/page_scripts/javascript.js

# Lines of code, of tests and of SQL, and words of documents, beside their budget.
size:
	$(PYTHON) .ci/size.py

# On two cores at once, each file on one: its costly fixtures are made once. Compiled once, not by each process that a test starts,
# and the tests once as well, whatever the environment says of files of byte code.
test: check
	$(BIN)/python -m compileall -q pbem
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --dist loadfile -m "not long and not browser"

# Minutes, not seconds: everything in `test` and what is marked long; and no letter of the desk's tests accuses it.
test-long: check
	$(BIN)/pytest -n 2 --dist loadfile --accused -m "not long and not browser"
	$(BIN)/pytest -n 2 --dist worksteal --accused -m "long and not browser"

# Diplomacy's adjudicator by the 164 cases of the DATC: seconds. The package's other tests are among the long ones.
datc: venv
	PYTHONPATH=examples/pbem-diplomacy:examples/pbem-diplomacy/tests $(BIN)/pytest examples/pbem-diplomacy/tests/test_datc.py

# For who adds a language: each letter of the desk's tests and each page in one that nobody speaks, a third longer than English:
# no word of ours is English, and no line too wide. `test-browser` reads the pages so once their scripts have run.
test-languages: venv
	$(BIN)/pytest --no-english tests/desk tests/letters/test_catalogues.py tests/pages/test_any_language.py

# Weeks of a server in one thread, with power cuts, seed after seed: docs/simulation.md. FROM=17 SEEDS=1 WEEK='{"days": 2}' STORY=1
SEEDS ?= 100
FROM ?= 1
WEEK ?=
STORY ?=

simulate: venv
	PYTHONPATH=tests $(BIN)/python -m simulation --seeds $(SEEDS) --from $(FROM) $(if $(WEEK),--week '$(WEEK)') $(if $(STORY),--story)

# The store and the desk on PostgreSQL: Debian's, installed if there is none, in a temporary folder; gone afterwards.
# MARKS=long: five hundred faults that befall three servers and their database, and two hundred matches over three servers.
MARKS ?= not long and not browser

test-postgresql: venv
	.ci/postgresql $(BIN)/pytest -n 2 --dist loadfile -m "$(MARKS)" tests/store tests/desk \
		tests/server/test_many_machines.py tests/server/test_many_machines_die.py \
		tests/cli/test_many_machines.py

# As a newcomer has it: demo, test, datc and demo in a clone of HEAD with nothing beside it. PYTHON=python3.13; CLONE_USER=nobody, if you are root.
CLONE_USER ?=

test-clone:
	PYTHON="$(PYTHON)" CLONE_USER="$(CLONE_USER)" .ci/clone

# The same on each supported Python, also in a version manager's folder; uv fetches what is not here. Each is tried, and one that
# failed, or could not be fetched, is named at the end and fails it all.
test-pythons: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-pythons.lock
	failed=; missing=; \
	for version in 3.11 3.12 3.13 3.14; do \
		if python=$$(.ci/python $$version || { $(BIN)/uv python install --quiet $$version && .ci/python $$version; }); then \
			PYTHON="$$python" CLONE_USER="$(CLONE_USER)" .ci/clone || failed="$$failed $$version"; \
		else missing="$$missing $$version"; fi; \
	done; \
	echo "---- failed:$${failed:- none}; not here, so not tested:$${missing:- none}"; \
	test -z "$$failed$$missing"

# Odd mail of somebody else's beside our own: all .eml and .mbox below CORPORA=folder.
test-corpora:
	@test -d "$(CORPORA)" || { echo "Name a folder with odd mail: make test-corpora CORPORA=folder" >&2; exit 2; }
	@$(MAKE) --no-print-directory venv
	$(BIN)/pytest -m "odd and not long" --corpora="$(CORPORA)"

# The pages and the HTML of letters in headless Chromium: Debian's, installed if it is not there.
test-browser: venv
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-browser.lock
	$(BIN)/pytest -m browser

# The pictures of the README, from a match that is played for them: look at each afterwards. A test fails when they are too old.
pictures: venv
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-browser.lock
	PYTHONPATH=tests $(BIN)/python -m demo.pictures

# That the tests reach each line and branch of the games' rules and of the life of a match: those tests that come through there.
# What all of them reach in all rooms: TESTS=tests, and more time.
TESTS ?= tests/games tests/match tests/proof tests/desk tests/letters tests/cli

coverage: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-coverage.lock
	$(BIN)/pytest -n 2 --dist loadfile -m "not long and not browser" --cov --cov-report= $(TESTS)
	$(BIN)/coverage report
	$(BIN)/coverage report --include="pbem/games/*,pbem/match/*" --fail-under=100

# Whether a test notices if the code is a little wrong: mutants of the rooms' functions, so many by a seed, or all of them.
# Of one room or some modules alone: OF="--room match", OF=pbem/games/squares.py: docs/mutation.md.
SAMPLE ?= 300
SEED ?= 1
OF ?=

mutation: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-mutation.lock
	PYTHONPATH=tests nice $(BIN)/python -m mutation --sample $(SAMPLE) --seed $(SEED) $(OF)

# What fits one night on two cores, and a page of what it showed, in build/night; begun again, it goes on. HOURS=3: a short
# one, with a share of each part; on a slow machine, give a smaller SHARE than HOURS/8.
HOURS ?= 8
SHARE ?=

night: venv
	PYTHONPATH=tests $(BIN)/python -m night --hours $(HOURS) $(if $(SHARE),--share $(SHARE))

# The documents as a site in build/site, to be read from the folder. A link to a page, section or file that is not there fails.
docs: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs -d build/doctrees . build/site

# A few minutes on a quiet machine; with Debian's postfix there are more to measure beside. PARTS="intake turn" runs those.
bench: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	$(BIN)/python -m bench $(PARTS)

# For maintainers: HEAD's wheel and source package in dist/, built twice and compared, and their checksums, signed by KEY=file.
release: venv
	@test -f "$(KEY)" || { echo "Name the SSH key that signs: make release KEY=file" >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-release.lock
	.ci/build-twice dist
	$(BIN)/python -m twine --no-color check --strict dist/pbem-*
	ssh-keygen -q -Y sign -f "$(KEY)" -n pbem-release dist/SHA256SUMS

# As a stranger checks it: the signature, the checksums, the wheel in an empty place. SIGNERS=file: whose signatures you accept.
release-check:
	@test -f "$(SIGNERS)" || { echo "Name who may sign: make release-check SIGNERS=file" >&2; exit 2; }
	PYTHON="$(PYTHON)" .ci/release-check "$(SIGNERS)" dist

# For maintainers: makes the lock files anew (needs uv).
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra server --group dev pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group build -o requirements-build.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group browser -o requirements-browser.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group bench -o requirements-bench.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group coverage -o requirements-coverage.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group docs -o requirements-docs.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group mutation -o requirements-mutation.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group pythons -o requirements-pythons.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --group release -o requirements-release.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --extra postgresql pyproject.toml -o requirements-image.lock
	$(MAKE) --no-print-directory materials

# The bill of materials in the wheel, after a change of a lock or of the version.
materials: venv
	PYTHONPATH=tests $(BIN)/python -m judges.bill_of_materials

# For translators: what is said, found anew, brought into the catalogue of every language; what changed is marked fuzzy.
catalogue: venv
	$(BIN)/pybabel --quiet extract -F pyproject.toml -k Phrase -k say -k Impossible -k BadAccount -k CannotSign -k Missing -k NotGenuine -k NotSent --add-location=file --sort-by-file --project=pbem --no-wrap \
		-o .venv/messages.pot .
	for file in templates/*/messages.po; do \
		language=$$(basename $$(dirname $$file)); \
		$(BIN)/pybabel --quiet update -i .venv/messages.pot -o $$file -l $$language --ignore-obsolete --ignore-pot-creation-date \
			--no-wrap; \
	done

# The manual page, after a change of a command or its options; and the completions, which change with click alone.
manual: venv
	$(BIN)/python .ci/manual.py > docs/pbem.1
	_PBEM_COMPLETE=bash_source $(BIN)/pbem > share/bash-completion/completions/pbem
	_PBEM_COMPLETE=zsh_source $(BIN)/pbem > share/zsh/site-functions/_pbem
	_PBEM_COMPLETE=fish_source $(BIN)/pbem > share/fish/vendor_completions.d/pbem.fish

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .mutation
