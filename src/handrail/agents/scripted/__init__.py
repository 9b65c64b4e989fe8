"""The scripted agent: no model, no key; plays a script against the very gate and tool that a real agent meets."""
