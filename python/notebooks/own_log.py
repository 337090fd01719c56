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
# # A policy for one's own log
#
# A balancer has run round robin, and its log is there. Would another rule have been faster, and by how much?

# %%
import matplotlib.pyplot as plt
import numpy as np
import sojourn

# %% [markdown]
# The log of HAProxy before four servers; here it is made, in practice it is yours, of [any format](../../docs/log-formats.md).

# %%
random = np.random.default_rng(7)
came = np.cumsum(random.exponential(1 / 120, 20_000))
work = random.exponential(0.020, 20_000)
free = [0.0] * 4
line = '10.0.{}.{}:4000 [27/Nov/2026:10:{:02d}:{:06.3f}] web app/s{} 0/0/0/{}/{} 200 1200 - - ---- 9/9/8/2/0 0/0 "GET /page/{} HTTP/1.1"\n'
with open("haproxy.log", "w") as log:
    for number, (at, needs) in enumerate(zip(came, work)):
        server = number % 4
        free[server] = max(at, free[server]) + needs
        took = int(1000 * (free[server] - at))
        when = (int(at / 60), at % 60 - 0.0005 if at % 60 > 59.9994 else at % 60)
        log.write(line.format(number % 7, number % 200, *when, server + 1, took, took, number % 50))

for fact in sojourn.describe("haproxy.log")["facts"][:8]:
    print(fact)

# %% [markdown]
# What one server is made of, fitted to the first half of the log and tried on the second.

# %%
model = sojourn.calibrate(log="haproxy.log")["model"]
with open("server.toml", "w") as file:
    file.write(model)
print(model)

# %% [markdown]
# The same requests again, under three rules. First: is the model right? Under round robin it must say what the log says.

# %%
day = sojourn.Experiment.from_dict({
    "name": "The day, under another rule",
    "workload": {"kind": "log", "log": "haproxy.log", "ran": "round-robin"},
    "system": {"tier": [{"face": "gateway", "policy": "round-robin", "targets": {"servers": 4}}], "server": "server.toml"},
    "vary": {"policy": ["round-robin", "power-of-d(d = 2)", "least-connections"]},
})
answers = day.ask("sim")
print(answers.verdict, *answers.reasons)
answers

# %%
figure, ax = plt.subplots()
for engine, policy in [("log", "round-robin")] + [("sim", policy) for policy in ("round-robin", "power-of-d(d = 2)", "least-connections")]:
    found = answers.get("response_time_p99", engine=engine, policy=policy)
    low, high = (found.low, found.high) if np.isfinite(found.low) else (found.estimate, found.estimate)
    ax.errorbar(f"{policy}\n{engine}", 1e3 * found.estimate, yerr=[[1e3 * (found.estimate - low)], [1e3 * (high - found.estimate)]], fmt="o", capsize=4)
ax.set(ylabel="response time, 99 % (ms)", ylim=(0, None))
