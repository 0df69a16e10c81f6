class EngineShutdown(Exception):
    pass
