"""The scripted agent: no model, no API key. It plays a script against the same gate and tool as a real agent."""
