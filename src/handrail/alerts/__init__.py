"""Tells a person, once, that a run needs them or has ended: by a bell, on the desktop, by a program or a webhook."""
