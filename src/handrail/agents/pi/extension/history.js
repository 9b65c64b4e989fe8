// What pi's history says about a workflow. Pure.

const FOREIGN = "workflow:state";

// The last place that Handrail stored on a branch, and the states of pi-workflows that are newer.
export function lastPlace(branch, type) {
	const own = branch.findLastIndex((entry) => entry.type === "custom" && entry.customType === type);
	const states = branch.slice(own + 1).filter((entry) => entry.type === "custom" && entry.customType === FOREIGN);
	const data = own < 0 ? null : branch[own].data;
	const isPlace = typeof data?.session === "string" && typeof data?.project === "string" && Number.isInteger(data?.number);
	return { at: isPlace ? data : null, states };
}

// The marks of the phases that the model can read about in these messages.
export function marksIn(messages, tool) {
	const found = messages.filter((message) => message.role === "toolResult" && message.toolName === tool);
	return found.map((message) => message.details?.handrail?.mark).filter((mark) => typeof mark === "string");
}

// The messages with a text for this model call only. It follows the last prompt, so it stays at its place in a turn.
export function withContext(messages, text) {
	if (!text) return messages;
	const prompt = messages.findLastIndex((message) => message.role === "user" || message.role === "custom");
	const said = { role: "user", content: [{ type: "text", text }], timestamp: Date.now() };
	return [...messages.slice(0, prompt + 1), said, ...messages.slice(prompt + 1)];
}
