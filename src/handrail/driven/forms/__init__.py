"""Forms: questions for people, how a form is read, and which answers are valid."""
