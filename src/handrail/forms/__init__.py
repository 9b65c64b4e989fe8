"""Questions for people: a form, how it is read, what counts as an answer."""
