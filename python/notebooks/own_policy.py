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
# # A policy of one's own, against two that are built in
#
# From a column of request sizes to a figure with intervals: which rule is better on one's own traffic, over ten loads?

# %%
import numpy as np
import sojourn
from sojourn.draw import below

# %% [markdown]
# Sizes of replies; here drawn, in practice `pandas.read_csv("requests.csv")["bytes"]`. The law that fits them is a line of the experiment.

# %%
sizes = np.random.default_rng(1).lognormal(8.0, 1.2, 5000)
law = sojourn.fit(sizes, unit="B")
print(law)

# %% [markdown]
# The policy: of two servers drawn, the one with fewer requests in flight; but a server that was chosen less than a millisecond ago
# counts one more, since its request may not have begun. It remembers when it chose which.


# %%
@sojourn.policy(memory=8)
def careful_two(candidates, load, now, random, memory):
    one = candidates[below(random, len(candidates))]
    other = candidates[below(random, len(candidates))]
    more_one = load[one] + (1 if now - memory[one] < 0.001 else 0)
    more_other = load[other] + (1 if now - memory[other] < 0.001 else 0)
    best = one if more_one <= more_other else other
    memory[best] = now
    return best


# %%
experiment = sojourn.Experiment.from_dict({
    "name": "Which rule on my traffic?",
    "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.7)", "size": law},
    "system": {
        "tier": [{"face": "gateway", "policy": "random", "targets": {"servers": 4}}],
        "server": {"discipline": "ps", "demand": "1 ms + 1 us/B"},
    },
    "run": {"max_jobs": 200_000},
})
grid = {"utilization": [round(0.1 * step, 1) for step in range(1, 10)], "policy": ["random", "power-of-d", "careful-two"]}
answers = sojourn.sweep(experiment, grid, engines="sim", on="processes")
answers

# %%
answers.plot("response_time_mean", x="utilization", by="policy")
