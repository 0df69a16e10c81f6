"""What `rackproof simulate` reads: a deployment, a workload, an SLO, variants, published figures.

Read plan (what comes of a file), amounts (numbers with their units), hardware, deployments and
workloads (the parts), loader (the whole), sections (keys that only some questions need); the
bundled files are beside them, and in data/ the samples of traces they replay.
"""
