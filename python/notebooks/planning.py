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
# # What to buy
#
# How many servers, with how many helpers, behind which rule, so that 99 of 100 requests are answered within 150 ms, for the least money?

# %%
import sojourn

experiment = sojourn.Experiment.from_dict({
    "name": "What to buy for 300 requests a second",
    "workload": {
        "kind": "open",
        "arrivals": "exponential(rate = 300 /s)",
        "size": "lognormal(mean = 12 kB, cv = 2)",
    },
    "system": {
        "tier": [{"face": "gateway", "policy": "round-robin", "targets": {"servers": 4}}],
        "server": {"discipline": "limited-ps", "helpers": 16, "demand": "3 ms + 0.5 us/B"},
    },
    "objective": {"p99": "< 150 ms"},
    "plan": {
        "unit": "EUR a month",
        "choice": [
            {"key": "servers", "values": "2..6", "cost": 60},
            {"key": "policy", "values": ["round-robin", "least-connections"], "costs": [0, 20]},
        ],
        # Other arrivals at the same rate must be served as well.
        "traffic": {"bursty": "hyperexponential(rate = 300 /s, cv = 3)"},
    },
    "run": {"precision": "10% at 95%"},
})
found = sojourn.plan(experiment)

# %% [markdown]
# The offers, the cheapest first, each with the simulated response time that decides and its interval.

# %%
for offer in found["offers"]:
    decides = offer["simulated"]["answers"][0]["estimate"]["sampled"]
    ends = " to ".join(f"{1e3 * decides[end]:.0f}" for end in ("ci_low", "ci_high"))
    print(f"{offer['cost']:g} {found['unit']}: {offer['label']}, p99 {1e3 * decides['value']:.0f} ms ({ends})")

# %% [markdown]
# What the other traffic makes of the cheapest one, and how much more of the same it bears, stand in `found["traffic"]` and `found["growth"]`.

# %%
found["traffic"], found["growth"]
