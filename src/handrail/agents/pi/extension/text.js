// A text on pi's screen: a component with lines that fit. It imports nothing, because not every pi offers its own.

const WIDE = /[\u1100-\u{10ffff}]/u;

// The lines of a text, each at most `width` columns wide. Characters that may be two columns wide count as two.
export function wrapped(text, width) {
	const lines = [];
	for (const part of text.replace(/\t/g, "  ").split("\n")) {
		let line = "";
		let used = 0;
		for (const word of part.split(/(?<= )/)) {
			const size = columns(word);
			if (used > 0 && used + columns(word.trimEnd()) > width) {
				lines.push(line.trimEnd());
				line = "";
				used = 0;
			}
			if (size <= width) {
				line += word;
				used += size;
				continue;
			}
			for (const char of word) {
				const one = columns(char);
				if (used + one > width) {
					lines.push(line);
					line = "";
					used = 0;
				}
				line += char;
				used += one;
			}
		}
		lines.push(line.trimEnd());
	}
	return lines;
}

function columns(text) {
	let count = 0;
	for (const char of text) count += WIDE.test(char) ? 2 : 1;
	return count;
}

export class Text {
	constructor(text, paint) {
		this.text = text;
		this.paint = paint;
	}

	render(width) {
		return wrapped(this.text, Math.max(2, width - 2)).map((line) => ` ${this.paint(line)}`);
	}

	invalidate() {}
}
