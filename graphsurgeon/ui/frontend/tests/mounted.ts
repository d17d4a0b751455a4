// A screen over a model for tests, in a page of its own, and what a person does on it.
import { afterEach } from "vitest";
import { mount } from "../src/app";
import { FakeModel } from "./fake";

export let model: FakeModel, host: HTMLElement, close: () => void;

export function start(state = {}): void {
  model = new FakeModel(state);
  host = document.body.appendChild(document.createElement("div"));
  close = mount(model, host);
}

export const item = (label: string) =>
  [...host.querySelectorAll<SVGGElement>(".gs-item")].find(g => g.getAttribute("aria-label")!.startsWith(label))!;
export const choices = () => [...host.querySelectorAll<HTMLElement>(".gs-choice")];
export const click = (e: Element, more = {}) => e.dispatchEvent(new MouseEvent("click", { bubbles: true, ...more }));
/** The drawing of a pane, in which events happen at the points of edges. */
export const drawing = (pane = "source") => host.querySelector(`.gs-pane-${pane} .gs-svg`)!;
export const key = (e: Element, name: string, more = {}) =>
  e.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
export const settled = () => new Promise(done => setTimeout(done));

afterEach(() => {
  close();
  host.remove();
});
