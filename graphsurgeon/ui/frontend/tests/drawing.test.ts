import { expect, test } from "vitest";
import { clean } from "../src/panels/dom";
import { chipsOf, marksOf } from "../src/state/marks";
import { entry, contains, neighbor, placeOf } from "../src/state/places";
import { Drawing } from "../src/canvas/scene";
import { arrow } from "../src/canvas/shapes";
import { View } from "../src/canvas/view";
import { box, edge, group, NO_BOUNDARY, scene, tensorRow } from "./fake";

const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "</text><script>alert(1)</script>",
  'a" onload="alert(1)',
  "javascript:alert(1)",
  "&lt;b&gt;",
  "\u202egnp.exe",
  "x".repeat(100_000),
  "nul\u0000",
];

test("elements are kept by name from scene to scene", () => {
  const d = new Drawing();
  d.draw(scene([box("a"), box("s/")]));
  const a = d.find("a")!.g;
  d.draw(scene([box("a", { x: 50 }), box("s/x")], [], [group("s/")]));
  expect(d.find("a")!.g).toBe(a);
  expect(a.getAttribute("transform")).toBe("translate(50,0)");
  expect(d.find("s/")!.g.classList.contains("gs-group")).toBe(true);
  expect(d.root.querySelectorAll(".gs-item").length).toBe(3);
});

test("a box that changes is drawn anew in its element", () => {
  const d = new Drawing();
  d.draw(scene([box("a")]));
  d.draw(scene([box("a", { state: "new", label: "A" })]));
  const g = d.find("a")!.g;
  expect(g.querySelector(".gs-label")!.textContent).toBe("A");
  expect(g.querySelector(".gs-badge")!.textContent).toBe("+");
  expect(g.classList.contains("gs-is-new")).toBe(true);
});

test("a box that has another number only is not drawn anew, and what is new is put where it is read", () => {
  const d = new Drawing();
  d.draw(scene([box("a", { id: "b0" }), box("c", { id: "b1", y: 50 }), box("e", { id: "b2", y: 100 })]));
  const [a, c, e] = ["a", "c", "e"].map(name => d.find(name)!.g),
    label = c!.firstChild,
    watch = new MutationObserver(() => {});
  watch.observe(d.root, { subtree: true, childList: true });
  d.draw(scene([box("a", { id: "b0" }), box("b", { id: "b1", y: 40 }), box("c", { id: "b2", y: 90 }), box("e", { id: "b3", y: 140 })]));
  const moved = watch.takeRecords().flatMap(record => [...record.removedNodes]);
  expect(c!.firstChild).toBe(label);
  expect(c!.getAttribute("transform")).toBe("translate(0,90)");
  expect([...a!.parentNode!.children]).toEqual([a, d.find("b")!.g, c, e]);
  expect([a, c, e].some(g => moved.includes(g!))).toBe(false);
});

test.each(HOSTILE.map(n => [n.slice(0, 20), n]))("a hostile name stays text: %s", (_, name) => {
  const d = new Drawing();
  d.draw(scene([box(name!)], [], [group(name + "/")]));
  d.mark({ ...NO_BOUNDARY, outputs: [tensorRow(name + ":0", name!)] });
  expect(d.root.querySelector("script, img, a")).toBe(null);
  expect(d.find(name!)!.g.querySelector(".gs-label")!.textContent).toBe(clean(name!));
  expect([...d.root.querySelectorAll("*")].flatMap(e => [...e.attributes]).filter(a => /^on|href/.test(a.name))).toEqual([]);
});

test("control characters and those that reorder text are shown as such", () => {
  expect(clean("a\u202eb\u0000c\ud800d\u{1f600}")).toBe("a\ufffdb\ufffdc\ufffdd\u{1f600}");
});

test("each state has a class and a second sign", () => {
  const d = new Drawing();
  d.draw(
    scene([box("i"), box("o"), box("s/", { count: 8 }), box("l"), box("c", { state: "conflict" })], [edge("i", "o", { state: "removed" })]),
  );
  d.mark(
    {
      ...NO_BOUNDARY,
      inputs: [tensorRow("i:0", "")],
      outputs: [tensorRow("o:0", ""), tensorRow("s/x:0", "")],
      leaks: [{ tensor: "l:0", text: "" }],
      boxes: { "s/": 3 },
    },
    "i",
  );
  const text = (name: string) => d.find(name)!.g.textContent;
  expect(text("i")).toContain("\u25b7 in 1");
  expect(text("i")).toContain("from");
  expect(text("o")).toContain("\u25c1 out 1");
  expect(text("s/")).toContain("3/8");
  expect(text("s/")).toContain("out 2");
  expect(text("l")).toContain("\u26a0 leak");
  expect(d.find("c")!.g.querySelector(".gs-second")).not.toBe(null);
  expect(d.root.querySelector(".gs-edge .gs-badge-removed")!.textContent).toBe("\u00d7");
  expect(d.root.querySelectorAll(".gs-layer-hull rect").length).toBe(1);
  for (const item of d.items.values()) expect(item.g.getAttribute("aria-label")).toMatch(/^\S/);
});

test("selecting lights the box and its edges", () => {
  const d = new Drawing();
  d.draw(scene([box("a"), box("b"), box("c")], [edge("a", "b"), edge("b", "c")]));
  d.select(new Set(["a"]));
  expect(d.find("a")!.g.getAttribute("aria-selected")).toBe("true");
  expect(d.root.querySelectorAll(".gs-lit").length).toBe(1);
});

test("a tensor is shown at its box, at the fold it is in, or at the group", () => {
  const s = scene([box("a/b"), box("a/c/"), box("~net/block_[0..11]/", { kind: "series" })], [], [group("a/")]);
  expect(placeOf(s, "a/b")!.name).toBe("a/b");
  expect(placeOf(s, "a/c/d/e")!.name).toBe("a/c/");
  expect(placeOf(s, "net/block_7/x")!.name).toBe("~net/block_[0..11]/");
  expect(placeOf(s, "net/block_12/x")).toBe(null);
  expect(placeOf(s, "a/hidden")!.name).toBe("a/");
  expect(contains("~x_[2..4]", "x_3")).toBe(true);
  expect(contains("~x_[2..4]", "x_3/y")).toBe(false);
  expect(contains("~net/block_3/", "net/block_3_conv/x")).toBe(true);
  expect(contains("~net/block2/", "net/block2a_conv/x")).toBe(true);
  expect(contains("~net/block_3/", "net/block_30_conv/x")).toBe(false);
  expect(contains("~net/block_[1..16]/", "net/block_12_add")).toBe(true);
  expect(contains("~net/block_[1..16]/", "net/block_17_add")).toBe(false);
});

test("many marks on one box are counted", () => {
  const s = scene([box("a/")]);
  const marks = marksOf(s, { ...NO_BOUNDARY, inputs: [1, 2, 3].map(i => tensorRow(`a/${i}:0`, "")) });
  expect(chipsOf(marks.get("a/"), false)).toEqual([{ kind: "in", text: "\u25b7 3 in" }]);
});

test("arrows follow edges, and go to the nearest box where there is none", () => {
  const s = scene([box("a"), box("b", { x: 500, y: 100 }), box("near", { y: 100 }), box("side", { x: 200 })], [edge("a", "b")]);
  const [a, b] = [s.boxes[0]!, s.boxes[1]!];
  expect(neighbor(s, a, "down")!.name).toBe("b");
  expect(neighbor(s, b, "up")!.name).toBe("a");
  expect(neighbor(s, a, "right")!.name).toBe("side");
  expect(neighbor(s, s.boxes[3]!, "down")!.name).toBe("near");
});

test("the arrow head lies at the end of the path, along it", () => {
  expect(arrow("M0,0C0,10 0,20 0,30", 10)).toBe("M-4.2,20L0,30L4.2,20");
  expect(arrow("M0,0", 10)).toBe("");
});

test("the first view is full size, or as small as lets it fit across and be read", () => {
  const view = new View(() => {}),
    s = scene([]);
  view.first(s, [800, 600]);
  expect([view.k, view.x]).toEqual([1, 250]);
  view.first({ ...s, h: 5000 }, [800, 600]);
  expect([view.k, view.y]).toEqual([1, 20]);
  view.first({ ...s, w: 1000 }, [800, 600]);
  expect([view.k, view.x]).toEqual([0.78, 10]);
  view.first({ ...s, w: 3000 }, [800, 600]);
  expect(view.k).toBe(1);
  const swung = scene([box("x", { x: 100, w: 200 })]);
  view.first({ ...swung, w: 1000 }, [800, 600]);
  expect([view.k, view.toPane(0, 0)[0], view.toPane(1000, 0)[0]], "edges at one side are in sight").toEqual([0.78, 10, 790]);
  view.first({ ...swung, w: 700 }, [800, 600]);
  expect([view.k, view.toPane(700, 0)[0]], "boxes in the middle, as far as there is room").toEqual([1, 790]);
  view.first({ ...swung, w: 3000 }, [800, 600]);
  expect(view.toPane(100, 0)[0], "edges swing far out, the boxes stand in the middle").toBe(300);
});

test("the first view of a large picture is from its edge, or that of the scope from which its beginning is in sight", () => {
  const view = new View(() => {}),
    boxes = [box("left", { x: 100 }), box("x", { x: 300, y: 4, h: 32 }), box("far", { x: 1900, y: 900 })];
  const s = { ...scene(boxes), w: 2000, h: 1000 };
  view.first(s, [800, 300]);
  expect([view.toPane(100, 4)[0], view.k]).toEqual([20, 1]);
  view.first({ ...s, direction: "LR", w: 1000, h: 2000 }, [800, 300]);
  expect(view.toPane(100, 0)).toEqual([20, 20]);
  const inner = group("net/", { x: 1300, w: 700, h: 1000 }),
    late = scene([box("x", { x: 1500, y: 20 }), box("far", { x: 0, y: 900 })], [], [group("all/", { w: 2000, h: 1000 }), inner]);
  view.first({ ...late, w: 2000, h: 1000 }, [300, 300]);
  expect(view.toPane(1500, 20)[0] + 80, "the box alone, where not even the edge of its scope is near enough").toBe(280);
  view.first({ ...late, w: 2000, h: 1000 }, [400, 300]);
  expect(view.toPane(1300, 0)[0], "with its scope").toBe(100);
});

test("a box keeps the middle of the side at which edges enter when it becomes a frame", () => {
  expect(entry(box("s/", { x: 60, y: 20, w: 80, h: 40 }), "TB")).toEqual(entry(group("s/", { x: 0, y: 20, w: 200, h: 100 }), "TB"));
  expect(entry(box("s/", { x: 60, y: 20, w: 80, h: 40 }), "LR")).toEqual([60, 40]);
});

test("zoom keeps the point under the pointer", () => {
  const view = new View(() => {});
  view.pan(30, 40);
  const before = view.toScene(200, 100);
  view.zoom(1.7, 200, 100);
  expect(view.toScene(200, 100).map(Math.round)).toEqual(before.map(Math.round));
});
