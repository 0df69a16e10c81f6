"""What must hold of a world of LLM serving: one file a concern, each with why people care."""

from typing import Final

from rackproof.invariants import endpoints, index, kv, peers, retries, rooms, store, tokens
from rackproof.model.kernel import Property

CATALOGUE: Final[dict[str, Property]] = {
    item.name: item
    for module in (tokens, kv, retries, endpoints, peers, rooms, index, store)
    for item in vars(module).values()
    if isinstance(item, Property) and item.function.__module__ == module.__name__
}
"""Every property by its name, in the order of the files; premises and lemmas are not among them."""
