"""Services that nodes call over HTTP.

A client imports the HTTP library inside a function: declarations of nodes must not import it.
"""
