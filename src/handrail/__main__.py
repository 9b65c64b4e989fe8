"""Entry point of `handrail` and `python -m handrail`. Calls from hosts skip the command line parser, which is slow."""

import gc
import os
import sys


def main() -> None:
    argv = sys.argv[1:]
    if argv[:1] == ["hook"]:
        from handrail.agents.calls.hook import run

        run(argv[1:], os.environ)
    if argv[:1] == ["mcp"] and argv[1:2] == ["--agent"]:
        from handrail.agents.calls.hook import end
        from handrail.agents.calls.servers import mcp_main

        end(mcp_main(argv[1:]))
    if argv[:2] == ["serve", "--stdio"]:
        from handrail.agents.calls.hook import end
        from handrail.agents.calls.servers import serve_main

        end(serve_main(argv[1:]))
    gc.disable()  # starting creates no garbage; long commands enable it again
    from handrail.cli.main import main as cli

    sys.exit(cli(argv))


if __name__ == "__main__":
    main()
