# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---
# %% [markdown]
# # A sweep on Ray
#
# Many points on all machines of a [Ray cluster](../../docs/guides/many-machines.md), with the same bytes as on one; where no cluster runs, one is
# started here. The budget goes to where the intervals are widest.

# %%
import sojourn

experiment = sojourn.Experiment.from_dict({
    "name": "Which rule, at which load?",
    "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.7)"},
    "system": {
        "tier": [{"face": "gateway", "policy": "random", "targets": {"servers": 4}}],
        "server": {"discipline": "fcfs", "demand": "hyperexponential(mean = 10 ms, cv = 2)"},
    },
})
grid = {"utilization": [0.3, 0.5, 0.7, 0.8, 0.9], "policy": ["random", "power-of-d", "least-connections"]}
answers = sojourn.sweep(experiment, grid, engines="sim", on="ray", budget=2e7, store="points.jsonl")
answers

# %%
answers.plot("response_time_mean", x="utilization", by="policy");

# %% [markdown]
# All rules had the same requests, so that their differences are known better than each number by itself: how many times as long as at
# random a request takes.

# %%
answers.plot("response_time_mean_ratio", x="utilization", by="policy");

# %% [markdown]
# The store has all that is finished: asked again, nothing is computed, here or on another machine.

# %%
again = sojourn.sweep(experiment, grid, engines="sim", budget=2e7, store="points.jsonl")
assert again.columns() == answers.columns()
