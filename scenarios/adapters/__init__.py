"""Serving stacks behind one interface, for whoever drives them beside the model: ``adapter`` is the
interface, ``seen`` what is told of one; ``fake`` is a stack to try it with, ``http`` any that
speaks OpenAI's protocol, ``dynamo`` NVIDIA Dynamo.
"""
