"""The terminal surface: what needs you, what runs, where it stands. Only `handrail ui` imports it: it needs Textual."""
