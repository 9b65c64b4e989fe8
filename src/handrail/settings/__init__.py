"""What a user and a project decide: settings, secrets, trust, the environment, and where the folders are."""

from __future__ import annotations
