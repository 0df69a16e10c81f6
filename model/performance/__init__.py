"""What things cost on a rack: seconds, bytes and joules of prefill, decode, hand-off and recovery.

Read hardware (GPUs and links), nodes (servers) and architecture (language models), all from data/;
formats (a KV cache in bytes); collectives, parallel (how GPUs share a model) and roofline (what a
step of an instance takes); paths (what moving bytes over a rack takes). questions/ has what follows
from formulas alone: break-even, capacity, energy, roofline.
"""
