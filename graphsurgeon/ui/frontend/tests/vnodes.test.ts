// Descriptions of elements, and what changes when a panel is drawn again.
import { afterEach, expect, test } from "vitest";
import { create, draw, h } from "../src/panels/vnodes";

afterEach(() => document.body.replaceChildren());

function shown(): HTMLElement {
  return document.body.appendChild(create(h("div")));
}

test("names from files become text, without control characters; long tooltips are cut", () => {
  const element = create(h("span.gs-a.gs-b", { class: "gs-c", title: "x".repeat(900) }, "<b>\u202egnp", "7", false, null, ["a", ["b"]]));
  expect(element.outerHTML.replace(/x+/, n => `${n.length}`)).toBe('<span class="gs-a gs-b gs-c" title="300">&lt;b&gt;\ufffdgnp7ab</span>');
});

test("controls keep the keys of the notebook away, and buttons submit no form", () => {
  const button = create<HTMLButtonElement>(h("button", { "aria-pressed": false, disabled: undefined, onclick: undefined }, "Go"));
  expect([button.type, button.disabled, button.getAttribute("aria-pressed"), button.dataset["lmSuppressShortcuts"]]).toEqual([
    "button",
    false,
    "false",
    "true",
  ]);
  expect(create(h("div", { tabindex: -1 })).dataset["lmSuppressShortcuts"]).toBe("true");
  expect(create(h("div")).dataset["lmSuppressShortcuts"]).toBe(undefined);
});

test("elements with keys move with their focus, scroll and listeners", () => {
  const element = shown(),
    seen: string[] = [],
    list = (...names: string[]) =>
      draw(
        element,
        h(
          "div",
          names.map(key => h("button", { key, onclick: () => seen.push(key) }, key)),
        ),
      );
  list("a", "b", "c");
  const b = element.children[1] as HTMLElement;
  b.focus();
  list("b", "d", "a");
  expect([...element.children].map(e => e.textContent)).toEqual(["b", "d", "a"]);
  expect([element.children[0], document.activeElement]).toEqual([b, b]);
  b.click();
  expect(seen).toEqual(["b"]);
});

test("if the element with the focus is removed, the nearest visible one around it gets the focus", () => {
  const element = shown(),
    panel = (hidden: boolean, ...inner: string[]) =>
      draw(
        element,
        h(
          "div",
          { tabindex: -1 },
          h(
            "section",
            { tabindex: -1, hidden },
            inner.map(key => h("button", { key })),
          ),
        ),
      );
  panel(false, "a");
  element.querySelector("button")!.focus();
  panel(false);
  expect(document.activeElement).toBe(element.querySelector("section"));
  panel(false, "b");
  element.querySelector("button")!.focus();
  panel(true);
  expect(document.activeElement).toBe(element);
  // the focus elsewhere does not move
  const outside = document.body.appendChild(document.createElement("button"));
  outside.focus();
  panel(false, "c");
  expect(document.activeElement).toBe(outside);
});
