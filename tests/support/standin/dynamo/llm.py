from enum import Flag, auto
from typing import Any


class ModelInput(Flag):
    Tokens = auto()


class ModelType(Flag):
    Chat = auto()
    Completions = auto()
    Prefill = auto()


class WorkerType(Flag):
    Aggregated = auto()
    Prefill = auto()
    Decode = auto()


class ModelRuntimeConfig:
    def set_engine_specific(self, name: str, value: Any) -> None: ...


async def register_model(*_given: Any, **_named: Any) -> None: ...
