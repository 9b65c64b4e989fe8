"""`python -m handrail.agents.scripted SCRIPT PROJECT SESSION [-]`."""

import sys

from handrail.agents.scripted.player import main

sys.exit(main(sys.argv[1:]))
