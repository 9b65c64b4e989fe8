"""Calls of an ordinary day inside Claude Code, in a phase that allows everything. The gate denies none of them.

`FALSE_ALARMS` are those that it denies today, because a shell line names a protected file without changing it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from support import Project

SHELL = r"""
ls -la
ls ~/.claude
cat README.md
sed -n 1,5p .mcp.json
awk '/hooks/' .claude/settings.json
find ~/.claude/plugins -name '*.json'
cp .mcp.json /tmp/x
bash .claude/skills/pdf/fill.sh a.pdf
cat .claude/settings.json
cat .mcp.json | head -20
head -c 200 .claude/settings.local.json
tail -f -n 5 build.log
less ~/.claude/settings.json
wc -l src/*.py
file build/app
stat .mcp.json
diff .mcp.json docs/example.mcp.json
grep -rn TODO src
grep -n hooks .claude/settings.json
rg --files -g '*.py'
rg disableAllHooks ~/.claude
find . -name '*.py' -newer setup.py
find . -type f -size +1M -not -path './.git/*'
fd -e ts
tree -L 2
pwd && whoami
cd src && ls
echo hello
echo "the file .mcp.json lists the servers"
printf '%s\n' done
env | grep PATH
which python3 node git
date +%F
sleep 0.1
true
git status
git status --short --branch
git diff
git diff --stat HEAD~3
git diff -- .mcp.json
git log --oneline -20
git log -p -- .claude/settings.json
git show HEAD:.mcp.json
git blame src/app.py
git add -A
git add src/app.py tests/test_app.py
git commit -m 'Fix the parser'
git commit -m "Say in the guide what .mcp.json is for"
git commit --amend --no-edit
git checkout -b feature/parser
git switch main
git stash list
git fetch --all --prune
git pull --rebase
git push -u origin feature/parser
git merge --no-ff feature/parser
git rebase main
git cherry-pick abc1234
git tag v1.2.3
git worktree list
git clean -n
git config user.name
git rev-parse --show-toplevel
git ls-files | wc -l
python3 -m pytest -q
python3 -m pytest tests/test_app.py -k 'parser and not slow' -x
python3 -c 'print(1 + 1)'
python3 -m venv .venv
python3 setup.py build > build.log 2>&1
. .venv/bin/activate && pip install -r requirements.txt
pip list | sort > requirements.lock
uv run ruff check --fix .
ruff format src
mypy src
npm ci
npm test -- --watch=false
npm run build && npm run lint
npx tsc --noEmit
npx prettier --write src
pnpm install --frozen-lockfile
yarn add --dev vitest
node -e 'console.log(process.version)'
node scripts/build.mjs --out dist
go build ./...
go test ./... -run TestParser
gofmt -l .
cargo build --release
cargo test -- --nocapture
cargo clippy
mvn -q test
./gradlew test
make
make test -j4
make -C docs html
cmake -B build -S . && cmake --build build
docker build -t app .
docker compose up -d
docker run --rm -v "$PWD":/src app make test
kubectl get pods
terraform plan
curl -s localhost:8080/health
curl -sSo build/data.json https://example.com/data.json
wget -q https://example.com/archive.tar.gz
tar xzf archive.tar.gz -C build
unzip -o build/a.zip -d build
mkdir -p build/reports
touch build/.stamp
cp README.md docs/README.md
cp -r templates build/templates
mv old.py new.py
rm -rf build dist
rm -f *.log
ln -sf ../config build/config
chmod +x scripts/run.sh
sed -i 's/foo/bar/g' src/app.py
sed -n 1,40p src/app.py
awk '{print $1}' data.txt
sort data.txt | uniq -c | sort -rn | head
jq .name package.json
jq '.hooks' .claude/settings.json
xargs -n1 echo < files.txt
tee build/out.txt < data.txt
for f in src/*.py; do python3 -m py_compile "$f"; done
test -d .claude && echo yes
psql -c 'select 1'
sqlite3 app.db .tables
gh pr list
gh pr view 12 --json title
glab mr list
ps aux | grep node
kill %1
open https://example.com
code .
handrail status
handrail list
handrail validate
timeout 60 npm test
nohup npm start > build/server.log 2>&1 &
time make
(cd web && npm run build)
export NODE_ENV=test; npm test
cat > notes.md <<'END'
""".strip().splitlines()
FALSE_ALARMS = r"""
if [ -f .mcp.json ]; then echo yes; fi
rsync -a --exclude .git ./ build/copy
python3 -m json.tool .mcp.json
npx prettier --check .mcp.json
chmod 700 ~
""".strip().splitlines()
FILES = ("src/app.py", "README.md", "Makefile", ".gitignore", ".github/workflows/ci.yml", "docs/claude/settings.json")
OTHERS = (
    {"tool_name": "Grep", "tool_input": {"pattern": "hooks", "path": ".claude"}},
    {"tool_name": "Glob", "tool_input": {"pattern": "**/*.py"}},
    {"tool_name": "WebFetch", "tool_input": {"url": "https://example.com", "prompt": "what is it?"}},
    {"tool_name": "TodoWrite", "tool_input": {"todos": []}},
    {"tool_name": "Task", "tool_input": {"description": "look", "prompt": "Look at .mcp.json."}},
    {"tool_name": "Read", "tool_input": {"file_path": ".mcp.json"}},
    {"tool_name": "Read", "tool_input": {"file_path": ".claude/settings.json"}},
)


@pytest.mark.whole
def test_ordinary_calls_are_allowed(project: Project) -> None:
    project.workflow("w", ["look", "build"])
    (project.folder / ".git").mkdir()
    calls: list[tuple[str, dict[str, Any]]] = [
        *((line, {"tool_name": "Bash", "tool_input": {"command": line}}) for line in [*SHELL, *FALSE_ALARMS]),
        *((f"{tool} {file}", _change(tool, project.folder / file)) for tool in ("Write", "Edit") for file in FILES),
        *((str(call), dict(call)) for call in OTHERS),
    ]
    _say(project, "UserPromptExpansion", command_name="handrail:workflow", command_args="w make tea")
    denied = [name for name, call in calls if _say(project, "PreToolUse", **call)]
    assert len(calls) > 150
    assert denied == FALSE_ALARMS


def _change(tool: str, path: Path) -> dict[str, Any]:
    texts = {"content": "x"} if tool == "Write" else {"old_string": "a", "new_string": "see .mcp.json"}
    return {"tool_name": tool, "tool_input": {"file_path": str(path), **texts}}


def _say(project: Project, event: str, **more: Any) -> dict[str, Any]:
    return tell("claude", {"session_id": "C", "cwd": str(project.folder), "hook_event_name": event, **more})
