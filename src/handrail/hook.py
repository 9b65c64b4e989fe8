"""Entry point of the installed stubs. They run this file with `python -I -S` for each event of an agent."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from handrail.agents.calls.hook import run

    run(sys.argv[1:], os.environ)
