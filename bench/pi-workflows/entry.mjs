// Measures the loader of pi-workflows in this new process and prints one JSON object.
// Arguments: AGENT_DIR CWD REPEATS [KEY TASK]. With KEY, the context text of that workflow's first phase is measured too.
import { loadWorkflows } from "@harms-haus/pi-workflows/src/config/loading.ts";
import { buildContextPrompt } from "@harms-haus/pi-workflows/src/prompts.ts";
import { createInitialState, resolveActive } from "@harms-haus/pi-workflows/src/state.ts";

const CONTEXT_ROUNDS = 7;
const CONTEXT_CALLS = 1000;

function timed(call) {
  const start = performance.now();
  const value = call();
  return { value, ms: performance.now() - start };
}

function measureContext(definitions, key, task) {
  const state = createInitialState(key, task);
  const build = () => buildContextPrompt(resolveActive(state, definitions));
  const rounds = Array.from({ length: CONTEXT_ROUNDS }, () =>
    timed(() => {
      for (let call = 0; call < CONTEXT_CALLS; call++) build();
    }),
  );
  const best = Math.min(...rounds.map((round) => round.ms));
  // Code points, as Python counts them, not UTF-16 units.
  return { chars: [...build()].length, us: (best * 1000) / CONTEXT_CALLS };
}

const [agentDir, cwd, repeats, key, task = ""] = process.argv.slice(2);
if (!(Number(repeats) >= 0)) {
  console.error("usage: pi-workflows.mjs AGENT_DIR CWD REPEATS [KEY TASK]");
  process.exit(2);
}
process.env.PI_CODING_AGENT_DIR = agentDir;
console.warn = () => {};

const first = timed(() => loadWorkflows(cwd));
const warm = Array.from({ length: Number(repeats) }, () => timed(() => loadWorkflows(cwd)).ms);
const report = {
  workflows: Object.keys(first.value).length,
  first_ms: first.ms,
  warm_ms: warm,
  node: process.version,
};
if (key !== undefined) report.context = measureContext(first.value, key, task);
console.log(JSON.stringify(report));
