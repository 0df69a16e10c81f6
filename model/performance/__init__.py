"""What things cost on a rack: seconds, bytes and joules of prefill, decode, hand-off and recovery.

Read hardware (GPUs and links) and architecture (language models), both from data/; formats (a KV
cache in bytes); collectives and roofline (what a step of an instance takes).
"""
