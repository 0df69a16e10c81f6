"""What differs between two worlds: as they are written, in what they do, what holds, what it costs.

``subject`` turns a world into a ``Side``, plain data that another process may have made (of another
commit, by other code); ``comparison`` holds two sides against each other.
"""
