// Whether a conversation has a workflow: Handrail keeps one small file per conversation with one.
//
// This is all that a tool call costs while there is no workflow. The names are those of `file_name` in
// `handrail/settings/folders.py`.

import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";

const LONGEST = 180;

export function fileName(text) {
	let coded = "";
	for (const char of text) {
		if (/^[A-Za-z0-9._-]$/.test(char)) coded += char;
		else if (char === "/") coded += "+";
		else for (const byte of Buffer.from(char)) coded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
	}
	if (coded.startsWith(".")) coded = `%2E${coded.slice(1)}`;
	if (coded.length <= LONGEST) return coded || "%";
	return `${coded.slice(-100)}%${createHash("sha256").update(text).digest("hex")}`;
}

// The folder of Handrail's state, as in `handrail/settings/folders.py`. Empty if there is no home: then Handrail decides.
function stateFolder(config, env) {
	if (config.env.HANDRAIL_STATE) return config.env.HANDRAIL_STATE;
	if (env.HANDRAIL_STATE) return env.HANDRAIL_STATE;
	if (env.HANDRAIL_HOME) return join(env.HANDRAIL_HOME, "state");
	if (env.XDG_STATE_HOME?.startsWith("/")) return join(env.XDG_STATE_HOME, "handrail");
	return env.HOME ? join(env.HOME, ".local", "state", "handrail") : "";
}

// True unless there surely is no workflow in this conversation.
export function mayBeActive(config, conversation, env = process.env) {
	const state = stateFolder(config, env);
	if (!state) return true;
	try {
		lstatSync(join(state, "hosts", "pi", fileName(conversation)));
		return true;
	} catch (error) {
		return error?.code !== "ENOENT";
	}
}

// False after Handrail was removed: running conversations are free from then on.
export function isInstalled(config) {
	return existsSync(config.file);
}
