"""An implementation under the same test as the model: in lock step, one action after another.

What an implementation is, ``model/kernel/implementation.py`` says; those of serving stacks are in
``scenarios/adapters``.
"""
