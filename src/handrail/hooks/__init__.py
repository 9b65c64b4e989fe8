"""What Handrail answers to a host's events, in its own words: one small file a kind of event."""
