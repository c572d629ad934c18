.DEFAULT_GOAL := help
BOOTSTRAP := @python3 localstack/bootstrap.py

.PHONY: help demo test up down doctor check format unit time-cases simulate api-fuzz acceptance soak bench synth prefetch

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

demo: ## bring the whole system up on this machine and watch it fire jobs
	$(BOOTSTRAP) demo

test: ## everything that must be green
	$(BOOTSTRAP) test

up: ## start the local stack, or renew the one that runs: make up SETTINGS='{"handlers": ...}' ROLES=1
	$(BOOTSTRAP) up $(if $(SETTINGS),--settings '$(SETTINGS)') $(if $(ROLES),--roles)

down: ## stop the local stack
	$(BOOTSTRAP) down

doctor: ## say what this machine lacks, and the account of your credentials: make doctor ENVIRONMENT=prod
	$(BOOTSTRAP) doctor $(or $(ENVIRONMENT),dev)

check: ## format, lint, types, known weaknesses, bills of materials
	$(BOOTSTRAP) check

format: ## put the code into the form that check asks for
	$(BOOTSTRAP) format

unit: ## the fast tests
	$(BOOTSTRAP) unit

time-cases: ## cron, zones and daylight saving, case by case
	$(BOOTSTRAP) time-cases

simulate: ## the fleet under faults: make simulate SEEDS=2000 FIRST=0
	$(BOOTSTRAP) simulate $(or $(SEEDS),300) $(or $(FIRST),0)

api-fuzz: ## generated requests against the running stack: must find nothing
	$(BOOTSTRAP) api-fuzz

acceptance: ## the tests of the whole system
	$(BOOTSTRAP) acceptance

soak: ## everything at once under chaos, judged by a ledger: make soak MINUTES=20 SEED=1
	$(BOOTSTRAP) soak --minutes $(or $(MINUTES),20) --seed $(or $(SEED),1) $(if $(URL),--url $(URL))

bench: ## measure, and hold the figures against the budgets: make bench ONLY="wheel dispatch"
	$(BOOTSTRAP) bench $(ONLY)

synth: ## write the CloudFormation templates into infra/cdk.out
	$(BOOTSTRAP) synth

prefetch: ## fetch what bundling needs, so that synth works without a network
	$(BOOTSTRAP) prefetch
