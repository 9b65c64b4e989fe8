"""Services that nodes call over HTTP.

A node imports a client inside a function: declarations of nodes must not import the HTTP library.
"""
