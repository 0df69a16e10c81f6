"""Small worlds that certificates name as their targets."""

import worlds

pool = worlds.pool(2, 1, 1)
stream = worlds.stream(3, replays=True)
