"""A deployment of NVIDIA Dynamo on this machine, without GPUs: started, sent requests, broken on
purpose and recorded.

Nothing here says what a run means: ``scenarios/recorded`` reads what is written here, as it reads
what anybody else recorded.
"""
