import { afterEach, expect, test } from "vitest";
import { align, follow } from "../src/state/linked_panes";
import { Overlay } from "../src/canvas/overlay";
import { Pane, type PaneEvents } from "../src/canvas/pane";
import { View } from "../src/canvas/view";
import { box, scene } from "./fake";

const events = new Proxy({}, { get: () => () => null }) as PaneEvents;

function pane(name: "source" | "destination", ...at: [string, number, number][]): Pane {
  const made = new Pane(name, events, new Overlay());
  Object.defineProperty(made, "size", { get: () => [600, 400] });
  made.drawing.draw(scene(at.map(([of, x, y]) => box(of, { x, y }))));
  document.body.append(made.element);
  return made;
}

afterEach(() => document.body.replaceChildren());

test("a picture follows another in pan and zoom, and keeps how they stand to one another", () => {
  const lead = new View(() => {}),
    other = pane("destination", ["a", 0, 0]);
  lead.moveTo(10, 20, 1);
  other.view.moveTo(110, 20, 1);
  const was = { x: lead.x, y: lead.y, k: lead.k };
  lead.zoom(2, 50, 60);
  follow(other, was, lead);
  const alone = new View(() => {});
  alone.moveTo(110, 20, 1);
  alone.zoom(2, 50, 60);
  expect([other.view.x, other.view.y, other.view.k]).toEqual([alone.x, alone.y, alone.k]);
  follow(other, { x: 0, y: 0, k: 2 }, { x: 5, y: -7, k: 2 });
  expect([other.view.x, other.view.y]).toEqual([alone.x + 5, alone.y - 7]);
});

test("what is in the middle of one picture stands at the same place in the other, as large", () => {
  const before = pane("source", ["a", 0, 0], ["b", 300, 300]),
    after = pane("destination", ["a", 500, 40], ["b", 900, 340], ["new", 0, 0]);
  before.view.moveTo(0, 0, 0.5);
  align(after, before);
  const at = (one: Pane, name: string) => {
    const { x, y } = one.scene!.boxes.find(b => b.name === name)!;
    return one.view.toPane(x, y);
  };
  expect([after.view.k, ...at(after, "b")]).toEqual([0.5, ...at(before, "b")]);
});

test("in a pane of another size the scale stays, and so does what is in view; another width of the widget fits the picture anew", () => {
  const one = new Pane("source", events, new Overlay()),
    resize = (w: number, anew = false) => {
      Object.defineProperties(one.canvas, {
        clientWidth: { configurable: true, value: w },
        clientHeight: { configurable: true, value: 400 },
      });
      one.updateSize(anew);
      return one.view.k;
    },
    boxes = Array.from({ length: 8 }, (_, i) => box(`b${i}`, { x: 100 * i, y: 20, w: 80 }));
  resize(800);
  one.update({ ...scene(boxes), w: 780 }, "");
  expect(one.view.k).toBe(1);
  const first = one.camera;
  one.keepVisible = ["b7"];
  // a second pane, or the inspector: the marked box stays in view
  expect(resize(400)).toBe(1);
  expect(one.view.contains(one.scene!.boxes[7]!, [400, 400])).toBe(true);
  resize(800);
  expect(one.camera).toEqual(first);
  // without marks, the box that keys act on
  one.keepVisible = [];
  one.focus(one.drawing.find("b6")!, false);
  expect(resize(200)).toBe(1);
  expect(one.view.contains(one.scene!.boxes[6]!, [200, 400])).toBe(true);
  resize(800);
  expect(one.camera).toEqual(first);
  // the whole widget gets narrower, and wider again
  expect(resize(600, true)).toBeLessThan(1);
  expect(resize(300)).toBeGreaterThan(0.7);
  expect(resize(800, true)).toBe(1);
  // another scene, for example with inferred shapes, is no move of the camera
  one.update({ ...scene(boxes), w: 780 }, "");
  expect(resize(600, true)).toBeLessThan(1);
  expect(resize(800, true)).toBe(1);
  // the user has zoomed: the scale stays in any case
  one.view.zoom(0.5, 0, 0);
  expect(resize(400, true)).toBe(0.5);
});

test("of new boxes that are too far apart for one view, the nearest to the middle is shown", () => {
  const one = new Pane("source", events, new Overlay());
  Object.defineProperties(one.canvas, { clientWidth: { value: 600 }, clientHeight: { value: 400 } });
  one.update(scene([box("top"), box("head", { y: 2000 }), box("end", { y: 2100 })]), "");
  one.view.moveTo(0, -1500, 1);
  one.lookAt(["top", "head"]);
  const inView = one.scene!.boxes.filter(({ x, y, w, h }) => one.view.contains({ x, y, w, h }, [600, 400])).map(({ name }) => name);
  expect(inView).toContain("head");
  expect(inView).not.toContain("top");
});

test("a picture that stands at one side, beside room, comes to the middle or up to the edge", () => {
  const one = pane("source", ["a", 0, 0]);
  const [wide] = one.scene!.boxes.map(b => b.w);
  one.view.moveTo(-30, 5, 1);
  expect([one.fill(), one.view.x, one.view.y]).toEqual([true, (600 - wide!) / 2, 5]);
  expect(one.fill()).toBe(false);
  one.view.moveTo(190, 5, 1);
  one.drawing.draw(scene([box("a", { w: 900 })]));
  expect([one.fill(), one.view.x]).toEqual([true, 20]);
});

test("pictures that have nothing in common stay as they are", () => {
  const before = pane("source", ["a", 0, 0]),
    after = pane("destination", ["new", 0, 0]);
  before.view.moveTo(5, 5, 2);
  align(after, before);
  expect([after.view.x, after.view.y, after.view.k]).toEqual([0, 0, 1]);
});
