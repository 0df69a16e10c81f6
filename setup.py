"""Maps each top folder to `rackproof.<folder>` and finds the packages in it.

This is all that pyproject.toml cannot say: its own search for packages knows no such prefix, and a
list written by hand forgets the next folder.
"""

from setuptools import find_packages, setup

FOLDERS = {
    "model": "model",
    "invariants": "invariants",
    "scenarios": "scenarios",
    "checker": "checker",
    "testing": "checker/testing",  # what a user's tests import, under a name of its own
}

setup(
    package_dir={f"rackproof.{name}": folder for name, folder in FOLDERS.items()},
    packages=[
        f"rackproof.{package}"
        for name, folder in FOLDERS.items()
        for package in (
            name,
            *(f"{name}.{inner}" for inner in find_packages(folder, exclude=["testing"])),
        )
    ],
)
