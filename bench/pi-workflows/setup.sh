#!/bin/sh
# Installs the published package of pi-workflows into CACHE_DIR and bundles entry.mjs and session.mjs with it.
# Prints the path of the first bundle; the second is next to it. Does nothing else if they are up to date.
set -eu

SEED=@harms-haus/pi-workflows@1.0.0
HOST=@earendil-works/pi-coding-agent
HOST_VERSION=0.74.2 # the last line that runs on Node 20
YAML=yaml@2.9.1
ESBUILD=esbuild@0.28.2

fail() {
    echo "bench/pi-workflows: $1" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: setup.sh CACHE_DIR"
for tool in node npm; do
    command -v "$tool" >/dev/null || fail "$tool is not on PATH; pi-workflows cannot be timed"
done

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cache=$(pwd)
bundle=$cache/pi-workflows.mjs

stamp=$(cat "$here/setup.sh" "$here"/*.mjs | cksum)
if [ -f "$bundle" ] && [ "$(cat stamp 2>/dev/null)" = "$stamp" ]; then
    echo "$bundle"
    exit 0
fi
rm -f stamp

# Peer dependencies are not installed: the loader uses one function of the host, downloaded below without its 100 packages.
[ -f package.json ] || echo '{"private": true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --legacy-peer-deps --save-exact --loglevel=error \
    "$SEED" "$YAML" "$ESBUILD" >&2 || fail "npm install failed"

tarball=$(npm pack --ignore-scripts --loglevel=error "$HOST@$HOST_VERSION") || fail "npm pack $HOST failed"
mkdir -p "node_modules/$HOST"
tar -xzf "$tarball" -C "node_modules/$HOST" --strip-components=1
rm "$tarball"

# `yaml` in its ES module build: the same code as its CommonJS one, an eighth faster once bundled.
modules=$cache/node_modules
bundled() {
    NODE_PATH=$modules node_modules/.bin/esbuild "$here/$1" \
        --bundle --platform=node --format=esm --target=node20 --log-level=warning \
        --alias:"$HOST"="$modules/$HOST/dist/utils/frontmatter.js" \
        --alias:yaml="$modules/yaml/browser/index.js" \
        --alias:@earendil-works/pi-ai="$here/host.mjs" \
        --alias:@earendil-works/pi-tui="$here/host.mjs" \
        --alias:typebox="$here/host.mjs" \
        --outfile="$2" >&2 || fail "esbuild failed"
}
bundled entry.mjs "$bundle"
bundled session.mjs "$cache/session.mjs"

echo "$stamp" >stamp
echo "$bundle"
