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
# # From M/M/1 to processor sharing
#
# Why does a web server with long jobs serve the short ones better when it shares its processor? One queue, two disciplines, by formula and
# by simulation.

# %%
import matplotlib.pyplot as plt
import sojourn


def means(discipline, cv, loads):
    """Mean response times (s) of a job of 1 s on average, whose standard deviation is cv seconds."""
    law = "exponential(mean = 1 s)" if cv == 1 else f"hyperexponential(mean = 1 s, cv = {cv})"
    answers = [sojourn.queue(f"M/G/1{discipline}", arrivals=f"exponential(utilization = {load})", service=law) for load in loads]
    return [answer["response_time_mean"].estimate for answer in answers]


loads = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9]

# %% [markdown]
# With exponential service both disciplines have the same mean, 1 / (1 - utilisation).

# %%
assert all(abs(mean * (1 - load) - 1) < 1e-9 for load, mean in zip(loads, means("-PS", 1, loads)))
assert all(abs(mean * (1 - load) - 1) < 1e-9 for load, mean in zip(loads, means("", 1, loads)))

# %% [markdown]
# With more variable service first come first served gets worse (Pollaczek and Khinchine), and sharing does not: only the mean of the service
# counts. Move the slider.


# %%
from ipywidgets import interact


@interact(cv=(1.0, 5.0, 0.5), busiest=(0.5, 0.95, 0.05))
def show(cv=3.0, busiest=0.9):
    loads = [busiest * step / 12 for step in range(1, 13)]
    figure, ax = plt.subplots()
    ax.plot(loads, means("", cv, loads), label="first come first served")
    ax.plot(loads, means("-PS", cv, loads), label="processor sharing")
    ax.set(xlabel="utilisation", ylabel="mean response time (s)", ylim=(0, 30), title=f"coefficient of variation {cv}")
    ax.legend()
    plt.show()


# %% [markdown]
# Who pays? Under sharing a job's mean time is in proportion to its size.

# %%
answer = sojourn.queue(
    "M/G/1-PS",
    arrivals="exponential(utilization = 0.8)",
    service="hyperexponential(mean = 1 s, cv = 3)",
    sizes=[0.1, 1.0, 10.0],
)
{row.metric: row.estimate for row in answer if "_at_" in row.metric}
