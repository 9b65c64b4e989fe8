"""GitLab over HTTP: issues, merge requests and comments."""
