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
