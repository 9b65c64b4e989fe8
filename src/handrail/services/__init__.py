"""Services that nodes call over HTTP. A node that needs one imports it; nothing else does."""
