// Where the cards of a graph stand. Pure: numbers in, numbers out; drawing is in cards.js.
//
// An item is one of
//   { type: "card", key, row, … }            a step, or something that is folded
//   { type: "series", items, down }          one after the other; `down`: below each other also on a wide screen
//   { type: "stack", items }                 at the same time
//   { type: "frame", key, title, inside, loops }   a repeat, a phase, a flow or a workflow around other items
// The places depend on the items only, never on what is known about them: no card moves when its status changes.

export const PER_ROW = 8;
const RIGHT = { card: [168, 56], gap: 32, pad: 12, title: 32, back: 24, row: 32, bus: 16 };
const DOWN = { card: [228, 56], gap: 24, pad: 8, title: 36, back: 24, row: 24, bus: 8 };

const moved = (box, x, y) => ({
  parts: box.parts.map((part) => ({ ...part, x: part.x + x, y: part.y + y })),
  lines: box.lines.map((line) => ({ ...line, points: line.points.map(([px, py]) => [px + x, py + y]) })),
});

const joined = (pieces, lines) => ({
  parts: pieces.flatMap((piece) => piece.parts),
  lines: [...pieces.flatMap((piece) => piece.lines), ...lines],
});

const line = (kind, ...points) => ({ kind, points });
const chunks = (list, size) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));

// One row of a series: the boxes stand on a common axis.
const rowOf = (boxes, size) => {
  const axis = Math.max(...boxes.map((box) => box.axis));
  let x = 0;
  const pieces = [];
  const lines = [];
  for (const box of boxes) {
    if (x) lines.push(line("next", [x - size.gap, axis], [x, axis]));
    pieces.push(moved(box, x, axis - box.axis));
    x += box.w + size.gap;
  }
  const h = Math.max(...boxes.map((box) => axis - box.axis + box.h));
  return { w: x - size.gap, h, axis, last: x - size.gap, ...joined(pieces, lines) };
};

const seriesRight = (boxes, size) => {
  const rows = chunks(boxes, PER_ROW).map((row) => rowOf(row, size));
  const left = rows.length > 1 ? size.bus : 0;
  const w = Math.max(...rows.map((row) => row.w)) + 2 * left;
  const pieces = [];
  const lines = [];
  let y = 0;
  rows.forEach((row, index) => {
    if (index) {
      const before = rows[index - 1];
      const from = y - size.row - before.h + before.axis;
      const turn = y - size.row / 2;
      const end = left + before.last;
      lines.push(line("next", [end, from], [end + size.bus / 2, from], [end + size.bus / 2, turn], [size.bus / 2, turn],
        [size.bus / 2, y + row.axis], [left, y + row.axis]));
    }
    pieces.push(moved(row, left, y));
    y += row.h + size.row;
  });
  return { w, h: y - size.row, axis: rows[0].axis, ...joined(pieces, lines) };
};

// Below each other. On a wide screen the axis is that of the first box, so that what follows to the right stays in place.
const column = (boxes, size, isPhone, kind) => {
  const w = Math.max(...boxes.map((box) => box.w));
  const middle = isPhone ? w / 2 : Math.min(...boxes.map((box) => box.w)) / 2;
  const pieces = [];
  const lines = [];
  let y = 0;
  for (const box of boxes) {
    if (y && kind) lines.push(line(kind, [middle, y - size.gap], [middle, y]));
    pieces.push(moved(box, isPhone ? (w - box.w) / 2 : 0, y));
    y += box.h + size.gap;
  }
  return { w, h: y - size.gap, axis: isPhone ? w / 2 : boxes[0].axis, ...joined(pieces, lines) };
};

// At the same time: below each other between two vertical lines.
const stackRight = (boxes, size) => {
  const inner = column(boxes, { gap: size.gap / 2 }, false, null);
  const w = inner.w + 2 * size.bus;
  const axes = [];
  let y = 0;
  for (const box of boxes) {
    axes.push([y + box.axis, box.w]);
    y += box.h + size.gap / 2;
  }
  const axis = axes[0][0];
  const last = axes.at(-1)[0];
  const lines = [
    line("plain", [0, axis], [size.bus / 2, axis], [size.bus / 2, last]),
    line("plain", [w - size.bus / 2, last], [w - size.bus / 2, axis], [w, axis]),
  ];
  for (const [at, width] of axes) {
    lines.push(line("plain", [size.bus / 2, at], [size.bus, at]));
    lines.push(line("plain", [size.bus + width, at], [w - size.bus / 2, at]));
  }
  return { w, h: inner.h, axis, ...joined([moved(inner, size.bus, 0)], lines) };
};

const framed = (item, inner, size, isPhone) => {
  const back = item.loops ? size.back : 0;
  const w = Math.max(inner.w, size.card[0]) + 2 * size.pad;
  const h = size.title + inner.h + back + size.pad;
  const left = isPhone ? (w - inner.w) / 2 : size.pad;
  const own = { ...item, inside: undefined, x: 0, y: 0, w, h };
  const lines = [];
  if (item.loops) {
    const [bottom, low] = [size.title + inner.h, size.title + inner.h + back / 2];
    const [from, to] = [left + inner.w - size.pad, left + size.pad];
    lines.push(line("again", [from, bottom], [from, low], [to, low], [to, bottom]));
  }
  const box = joined([{ parts: [own], lines: [] }, moved(inner, left, size.title)], lines);
  return { w, h, axis: isPhone ? w / 2 : size.title + inner.axis, ...box };
};

const place = (item, size, isPhone) => {
  if (item.type === "card") {
    const [w, h] = size.card;
    return { w, h, axis: isPhone ? w / 2 : h / 2, parts: [{ ...item, x: 0, y: 0, w, h }], lines: [] };
  }
  if (item.type === "frame") return framed(item, place(item.inside, size, isPhone), size, isPhone);
  const boxes = item.items.map((one) => place(one, size, isPhone));
  if (!boxes.length) return { w: 0, h: 0, axis: 0, parts: [], lines: [] };
  if (item.type === "stack") {
    if (!isPhone) return stackRight(boxes, size);
    const inner = column(boxes, { gap: size.gap / 2 }, true, null);
    return framed({ type: "together", key: `${item.key} together` }, inner, { ...size, title: size.pad, card: [0, 0] }, true);
  }
  return item.down || isPhone ? column(boxes, size, isPhone, item.down ? "again" : "next") : seriesRight(boxes, size);
};

// { w, h, parts, lines }: cards and frames with x, y, w, h; lines as points, each "next", "again" or "plain".
export const layout = (item, { isPhone = false } = {}) => {
  const { w, h, parts, lines } = place(item, isPhone ? DOWN : RIGHT, isPhone);
  return { w, h, parts, lines };
};

export const pathOf = ({ points }) => points.map(([x, y], index) => `${index ? "L" : "M"}${x} ${y}`).join(" ");
