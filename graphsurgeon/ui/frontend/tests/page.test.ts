import { expect, test } from "vitest";
import { type PackedData, unpack } from "../src/page/data";
import { type Searchable, searchOf } from "../src/page/find";
import { type Nesting, picture, type LayoutRow, stretch } from "../src/page/nest";
import { box } from "./fake";

function row(name: string, parent = -1, more: Partial<LayoutRow> = {}): LayoutRow {
  return { ...box(name, { w: 80, h: 40 }), parent, hub: 10, ...more };
}

/** x -> s/ -> y, with s/ = (a -> b): each line is vertical. */
function small(): Nesting {
  const down = (x: number, from: number, to: number) => [x, from, x, from + (to - from) / 2, x, from + (to - from) / 2, x, to];
  return {
    rows: [row("x"), row("s/", -1, { count: 2 }), row("y"), row("s/a", 1), row("s/b", 1)],
    inside: {
      [-1]: {
        size: [104, 196],
        label: "",
        heading: 0,
        rects: [
          [0, 12, 12, 80, 40],
          [1, 12, 78, 80, 40],
          [2, 12, 144, 80, 40],
        ],
        lines: [
          [0, 1, 0, 70, 65],
          [1, 2, 1],
        ],
        hidden: { constants: 2 },
      },
      1: {
        size: [200, 146],
        label: "s",
        heading: 60,
        rects: [
          [3, 10, 30, 80, 40],
          [4, 110, 96, 80, 40],
        ],
        lines: [
          [0, 3, 2],
          [3, 4, 3],
          [4, 2, 4],
        ],
        hidden: { constants: 1, summaries: 1 },
      },
    },
    paths: [down(52, 52, 78), down(52, 118, 144), down(50, 0, 30), [50, 70, 50, 83, 150, 83, 150, 96], down(150, 136, 146)],
    direction: "TB",
    ops: 4,
    limits: { boxes: 400, controls: 4 },
    tensors: [
      ["x:0", "float32 (8)"],
      ["s/a:0", ""],
      ["s/b:0", ""],
    ],
    edges: [
      [0, 1, 1, 0],
      [0, 3, 1, 0],
      [1, 2, 1, 2],
      [3, 4, 1, 1],
      [4, 2, 1, 2],
    ],
    controls: [],
  };
}

test("a level without open folds is drawn as Python has laid it out", () => {
  const { boxes, edges, lines, w, h, stats } = picture(small(), new Set());
  expect(stats.hidden).toEqual({ constants: 2 });
  expect([w, h]).toEqual([104, 196]);
  expect(boxes.map(b => [b.name, b.x, b.y, b.w, b.h])).toEqual([
    ["x", 12, 12, 80, 40],
    ["s/", 12, 78, 80, 40],
    ["y", 12, 144, 80, 40],
  ]);
  expect(edges.map(e => [e.from, e.to, lines[e.path[0]!], e.label, e.label_x, e.label_y])).toEqual([
    ["b0", "b1", "52,52C52,65 52,65 52,78", "float32 (8)", 70, 65],
    ["b1", "b2", "52,118C52,131 52,131 52,144", "", 0, 0],
  ]);
});

test("an open fold moves what is after it, and edges go on inside", () => {
  const { boxes, groups, edges, lines, w, h, stats } = picture(small(), new Set([1]));
  expect(stats.hidden).toEqual({ constants: 3, summaries: 1 });
  expect([w, h]).toEqual([224, 302]);
  expect(groups.map(g => [g.name, g.label, g.x, g.y, g.w, g.h, g.depth])).toEqual([["s/", "s", 12, 78, 200, 146, 0]]);
  expect(boxes.map(b => [b.name, b.x, b.y])).toEqual([
    ["x", 72, 12],
    ["s/a", 22, 108],
    ["s/b", 122, 174],
    ["y", 72, 250],
  ]);
  expect(edges.map(e => [e.from, e.to, lines[e.path[0]!]])).toEqual([
    ["b0", "b3", "112,52C112,65 62,65 62,78 62,93 62,93 62,108"],
    ["b3", "b4", "62,148C62,161 162,161 162,174"],
    ["b4", "b2", "162,214C162,219 162,219 162,224 162,237 112,237 112,250"],
  ]);
});

test("an edge without a line is drawn straight", () => {
  const data = small();
  data.inside[1]!.lines = [];
  expect(picture(data, new Set([1])).lines[0]).toBe("112,52C95.3,70.7 78.7,89.3 62,108");
});

test("edges of a box with many are quiet, and it has few control edges", () => {
  const data = small();
  data.rows[0]!.hub = 1;
  data.controls = [
    [0, 2, 1, 0],
    [1, 0, 1, 0],
  ];
  data.limits.controls = 1;
  expect(picture(data, new Set()).edges.map(e => [e.from, e.to, e.control, e.quiet])).toEqual([
    ["b0", "b1", false, true],
    ["b1", "b2", false, false],
    ["b0", "b2", true, true],
  ]);
});

test("a picture of too many boxes is refused", () => {
  const data = small();
  data.limits.boxes = 3;
  expect(picture(data, new Set()).boxes.length).toBe(3);
  expect(() => picture(data, new Set([1]))).toThrow("the picture would have 4 boxes, and the limit is 3. Fold something first.");
});

test("coordinates keep their order and their gaps when things become larger, and come closer when they become smaller", () => {
  const wider = stretch([[10, 50, 140]], 100);
  expect([0, 10, 30, 50, 60, 100, 110].map(wider)).toEqual([0, 10, 80, 150, 160, 200, 210]);
  const closer = stretch(
    [
      [0, 400, 60],
      [100, 200, 100],
    ],
    400,
  );
  expect([0, 100, 200, 400].map(closer)).toEqual([0, 20, 120, 140]);
  expect(stretch([], 50, 90)(50)).toBe(90);
});

const THINGS: Searchable = {
  names: ["net/conv", "net/relu", "net/conv/kernel", "net/b"],
  types: ["Conv2D", "Relu", "Const"],
  typeOf: [0, 1, 2, 2],
  holders: [1, 2, 1, 2],
  rows: [
    { name: "net/", label: "net", subtitle: "3 ops", kind: "scope", family: "scope" },
    { name: "net/conv", label: "conv", subtitle: "Conv2D", kind: "op", family: "conv" },
    { name: "net/relu", label: "relu", subtitle: "Relu", kind: "op", family: "unknown" },
  ],
  details: [
    {},
    {
      rows: [
        ["type", "Conv2D"],
        ["device", "/device:GPU:0"],
        ["padding", '"SAME"'],
      ],
      outputs: [{ tensor: "net/conv:0", text: "float32 (?, 8, 3)" }],
    },
    { outputs: [{ tensor: "net/relu:0", text: "float32_ref ()" }] },
  ],
};

test.each([
  ["conv", ["net/conv", "net/conv/kernel"]],
  ["net", ["net/", "net/conv", "net/relu", "net/b", "net/conv/kernel"]],
  ["op:conv* -kernel", ["net/conv"]],
  ["type:const", ["net/conv/kernel", "net/b"]],
  ["*kernel", ["net/conv/kernel"]],
  ["/r[e]lu$/", ["net/relu"]],
  ["shape:?x8x3", ["net/conv"]],
  ["shape:...,3", ["net/conv"]],
  ["shape:*x8", []],
  ["shape:()", ["net/relu"]],
  ["dtype:float*", ["net/conv", "net/relu"]],
  ["device:gpu", ["net/conv"]],
  ["attr:padding", ["net/conv"]],
  ["attr:padding=same", ["net/conv"]],
  ["attr:padding=valid", []],
  ["is:unknown", ["net/relu"]],
  ["relu:0", ["net/relu"]],
  ["(relu)", []],
])("the words %s find %j", (query, names) => {
  expect(searchOf(THINGS)(query, () => "").hits.map(hit => hit.name)).toEqual(names);
});

test("hits are counted at the visible box that contains or helps them", () => {
  const found = searchOf(THINGS)("conv", i => THINGS.rows[i]!.name);
  expect(found.boxes).toEqual({ "net/conv": 2 });
  expect(found.hits[1]).toEqual({ name: "net/conv/kernel", label: "kernel", op: "Const", inside: "net/conv" });
  expect(() => searchOf(THINGS)("/(/", () => "")).toThrow("nterminated group");
});

test("rows and details are written in columns, with numbers of tensors and facts", () => {
  const packed = {
    rows: { name: ["x", "s/"], count: [1, 2], lines: [null, ["s", "2"]] },
    tensors: [
      ["x:0", "float32 (8)"],
      ["s/b:0", ""],
    ],
    details: { rows: [0, 1], title: [null, "s"], inputs: [null, [0]], outputs: [[0], [1]] },
    facts: [[["type", "Neg"]], [["ops", "2"]]],
  } as unknown as PackedData;
  const { rows, details } = unpack(packed);
  expect(rows).toEqual([
    { name: "x", count: 1 },
    { name: "s/", count: 2, lines: ["s", "2"] },
  ]);
  expect(details).toEqual([
    { rows: [["type", "Neg"]], inputs: [], outputs: [{ tensor: "x:0", text: "float32 (8)" }] },
    {
      rows: [["ops", "2"]],
      title: "s",
      inputs: [{ tensor: "x:0", text: "float32 (8)" }],
      outputs: [{ tensor: "s/b:0", text: "" }],
    },
  ]);
  const empty = { rows: { name: [] }, tensors: [], details: { rows: [] }, facts: [] } as unknown as PackedData;
  expect(unpack(empty).rows).toEqual([]);
});
