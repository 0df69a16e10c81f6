"""A store that several engines share: objects under keys, in memory that workers lend.

The master knows which object lies in which space; clients read the spaces themselves. Freeing a
space changes what the master knows and not what lies there: a read of a space that was given to
another object succeeds, and brings the other's bytes. Each put under a key has a number.

``records`` has the states; the transitions are in ``gets``, ``puts``, ``room`` and ``loss``.
"""
