// @vitest-environment jsdom
import { expect, test } from "vitest";
import { box, edge, NO_PLAN, scene } from "./fake";
import { click, host, item, key, model, start } from "./mounted";

const at = (name: string, y: number, state: "" | "changed" | "removed" = "") => box(name, { y, state });
const position = () => host.querySelector(".gs-change-at")!.textContent,
  said = () => host.querySelector(".gs-status-text")!.textContent,
  pointed = () => [...host.querySelectorAll(".gs-at")].map(e => e.getAttribute("data-name")),
  press = (name: string) => click(host.querySelector(`button[title="${name}"]`)!);

test("keys and buttons go from change to change, and around; a pane that is away comes for it", () => {
  start({
    scenes: {
      source: scene([at("a", 0), at("gone", 50, "removed"), at("c", 100)], [edge("a", "gone")]),
      destination: scene([at("a", 0), at("c", 100, "changed")]),
    },
    plan: { ...NO_PLAN, steps: [{ text: "remove gone", muted: false }], same: true },
  });
  expect(position()).toBe("2 changes");
  key(item("a"), "z");
  expect([position(), pointed(), said()]).toEqual(["1 of 2", ["gone"], "Change 1 of 2: gone is removed."]);
  expect((document.activeElement as Element).getAttribute("data-name")).toBe("gone");
  press("Next change (z)");
  expect([position(), pointed(), said()]).toEqual(["2 of 2", ["c"], "Change 2 of 2: c is changed."]);
  press("Next change (z)");
  expect(position()).toBe("1 of 2");
  key(item("a"), "Z", { shiftKey: true });
  expect(position()).toBe("2 of 2");
  click(host.querySelector(".gs-pane-tabs button")!); // before
  expect(host.querySelector(".gs-pane-tabs [aria-pressed=true]")!.textContent).toBe("Before");
  press("Previous change (Shift+Z)");
  press("Previous change (Shift+Z)");
  expect([position(), host.querySelector(".gs-pane-tabs [aria-pressed=true]")!.textContent]).toEqual(["2 of 2", "After"]);
  expect(model.verbs.map(([verb]) => verb).filter(verb => verb !== "set_plan_view")).toEqual([]);
});

test("without a plan there is nothing to go through", () => {
  start({ scenes: { source: scene([at("a", 0)]), destination: null } });
  expect(host.querySelector<HTMLElement>(".gs-changes")!.hidden).toBe(true);
  key(item("a"), "z");
  expect(said()).toBe("None of the plan's changes are in this picture.");
});
