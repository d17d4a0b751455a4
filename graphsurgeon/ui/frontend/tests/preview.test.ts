import { expect, test } from "vitest";
import { changes } from "../src/state/changes";
import { fresh } from "../src/state/places";
import { Drawing } from "../src/canvas/scene";
import { textWidthAttributes, measure } from "../src/model/text";
import { View } from "../src/canvas/view";
import type { Mark } from "../src/model/types.generated";
import { box, edge, group, NO_BOUNDARY, scene, tensorRow } from "./fake";

const NEW = { state: "new" } as const;
const names = (list: object[]) => list.map(b => (b as { name: string }).name);

test("what a copy brings is fresh; what comes out of a fold is not", () => {
  const first = scene([box("a"), box("copy/", NEW)]);
  expect(names(fresh(null, first))).toEqual(["copy/"]);
  expect(fresh(first, scene([box("a"), box("copy/y", NEW)], [], [group("copy/", NEW)]))).toEqual([]);
  expect(names(fresh(first, scene([box("a"), box("copy/", NEW), box("copy_1/", NEW)])))).toEqual(["copy_1/"]);
});

test("a connection is fresh with both its ends", () => {
  const before = scene([box("a"), box("b"), box("c")], [edge("a", "b")]);
  const after = scene(
    [box("a"), box("b", { state: "changed" }), box("c")],
    [edge("c", "b", { state: "joined" }), edge("a", "b", { state: "removed" })],
  );
  expect(names(fresh(before, after)).sort()).toEqual(["b", "c"]);
  expect(fresh(after, after)).toEqual([]);
});

test("what one goes to comes to the middle, unless it is in sight already", () => {
  const view = new View(() => {}),
    near = { x: 40, y: 40, w: 100, h: 50 };
  view.centre(near, [600, 400]);
  expect([view.x, view.y]).toEqual([0, 0]);
  view.centre({ x: 1000, y: -300, w: 100, h: 50 }, [600, 400]);
  expect(view.toPane(1050, -275)).toEqual([300, 200]);
  view.centre({ x: 0, y: 0, w: 9000, h: 9000 }, [600, 400]);
  expect(view.toPane(0, 0)).toEqual([20, 20]);
});

test("edges that join old and new stand out; quiet ones lie below the others", () => {
  const d = new Drawing();
  d.draw(
    scene(
      [box("a"), box("c/x", NEW), box("c/y", NEW)],
      [edge("c/x", "c/y", NEW), edge("a", "c/x", { state: "joined", label: "float32" }), edge("a", "c/y", { quiet: true })],
    ),
  );
  const edges = [...d.root.querySelectorAll(".gs-edge")].map(e => e.getAttribute("class"));
  expect(edges).toEqual(["gs-edge gs-quiet-edge", "gs-edge gs-is-new", "gs-edge gs-is-joined"]);
  expect(d.root.querySelector(".gs-edge-label")!.classList.contains("gs-is-joined")).toBe(true);
});

test("the layers are painted in the order of the static picture", () => {
  const layers = [...new Drawing().root.children].map(e => e.getAttribute("class")!.slice("gs-layer-".length));
  // a static picture has no pointer and no search going on, and nobody is far from it
  expect(layers).toEqual(["hull", "edges", "groups", "flow", "boxes", "labels", "found", "far", "ports"]);
});

test("a scope without a box of its own is the first one below it", () => {
  const d = new Drawing();
  d.draw(scene([box("copy/a/x"), box("copy/a/y")], [], [group("copy/a/")]));
  expect(d.find("copy/")!.of.name).toBe("copy/a/");
  d.select(new Set(["copy/"]));
  expect(d.root.querySelectorAll(".gs-selected").length).toBe(1);
});

test("a fold that lies in the region in part says how much, in the place of its size", () => {
  const d = new Drawing();
  d.draw(scene([box("s/", { count: 21, subtitle: "21 ops" })]));
  d.mark({ ...NO_BOUNDARY, ops: 7, boxes: { "s/": 7 } });
  const g = d.find("s/")!.g;
  expect(g.querySelector(".gs-share")!.textContent).toBe("7/21 ops");
  expect(g.classList.contains("gs-part")).toBe(true);
  expect(g.getAttribute("aria-label")).toMatch(/^s\/ 7\/21 ops/);
  d.mark({ ...NO_BOUNDARY, ops: 21, boxes: { "s/": 21 } });
  expect(g.classList.contains("gs-part")).toBe(false);
});

test("what can be unfolded has a plus, and the chips of a box stand beside its port", () => {
  const d = new Drawing();
  d.draw(scene([box("s/", { kind: "scope", w: 60 }), box("a", { w: 60 })]));
  expect(["s/", "a"].map(name => d.find(name)!.g.querySelectorAll(".gs-more").length)).toEqual([1, 0]);
  d.mark({ ...NO_BOUNDARY, outputs: [tensorRow("a:0", "a:0")], inputs: [tensorRow("s/x:0", "s/x:0")] });
  const [x] = d
    .find("a")!
    .g.querySelector(".gs-chip-out")!
    .getAttribute("transform")!
    .match(/[\d.]+/)!;
  expect(Number(x)).toBeGreaterThan(30 + 4.5);
});

test("texts are as wide as the layout took them to be, where it knows their characters", () => {
  expect(measure("WWWWWWWWWW", 12)).toBe(113.28);
  expect(measure("\u6c34", 12)).toBeNull();
  expect(textWidthAttributes("\u6c34", 12)).toEqual({});
  expect(textWidthAttributes("ab", 10)).toEqual({ textLength: 11.12, lengthAdjust: "spacingAndGlyphs" });
});

const stands = (name: string, y: number, state: Mark = "") => box(name, { y, state });

test("a frame that is new in whole is one change; what only follows is none while there are others; the order is that of the flow", () => {
  const after = scene(
    [
      stands("late", 300, "changed"),
      stands("copy/a", 100, "new"),
      stands("copy/b", 150, "new"),
      stands("shaped", 200, "shape"),
      stands("was", 0, "orphan"),
    ],
    [],
    [group("copy/", { state: "new", y: 80 })],
  );
  const before = scene([stands("gone", 50, "removed"), stands("late", 300)]);
  const all = changes([
    { pane: "destination", scene: after },
    { pane: "source", scene: before },
  ]);
  expect(all.map(c => [c.name, c.pane])).toEqual([
    ["gone", "source"],
    ["copy/", "destination"],
    ["late", "destination"],
  ]);
  const shapes = changes([{ pane: "destination", scene: scene([stands("b", 9, "shape"), stands("a", 0, "shape")]) }]);
  expect(shapes.map(c => c.name)).toEqual(["a", "b"]);
});
