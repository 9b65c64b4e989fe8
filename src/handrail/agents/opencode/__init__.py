"""OpenCode: how it calls Handrail, and how Handrail calls it, through OpenCode's own server."""
