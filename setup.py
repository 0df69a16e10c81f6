"""Maps each top folder to `rackproof.<folder>` and finds the packages in it.

This is all that pyproject.toml cannot say: its own search for packages knows no such prefix, and a
list written by hand forgets the next folder.
"""

from setuptools import find_packages, setup

FOLDERS = ("model", "invariants", "scenarios", "checker")

setup(
    package_dir={f"rackproof.{folder}": folder for folder in FOLDERS},
    packages=[
        f"rackproof.{package}"
        for folder in FOLDERS
        for package in (folder, *(f"{folder}.{inner}" for inner in find_packages(folder)))
    ],
)
