// The bar at the top: title, view, direction, search.
import type { Post } from "../model/api";
import { button, type ButtonProps, fill, h, rove, setAttribute } from "./dom";
import { icon, type IconName } from "./icons";
import { type Action, keyOf, verbOf } from "../commands/keys";
import type { ViewState } from "../state/store";
import type { Direction, Views } from "../model/types.generated";
import type { Position } from "./popup";

const RECIPES = `Recipes (${keyOf("recipes")})`,
  SIGNATURES = "Signatures and functions of the file";

export interface TopEvents {
  /** Runs the action of a key. */
  run(action: Action): void;
  views(at: Position): void;
  outline(): void;
  inspector(): void;
  plan(): void;
  visibility(at: Position): void;
  signatures(at: Position): void;
  colors(at: Position): void;
  recipes(at: Position): void;
}

export class TopBar {
  readonly #title = h("div", { class: "gs-title" });
  readonly #figures = h("span", { class: "gs-muted gs-title-figures" });
  readonly #scale: HTMLButtonElement;
  readonly #serves: HTMLButtonElement;
  /** The buttons of the panels at the sides. */
  readonly #sides: Record<keyof ViewState["sides"], HTMLButtonElement>;
  readonly #full: HTMLButtonElement;
  readonly #directionButton: HTMLButtonElement;
  readonly #back: HTMLButtonElement;
  readonly #forward: HTMLButtonElement;
  readonly element: HTMLElement;
  readonly #refreshStops: () => void;
  #direction: Direction = "TB";

  constructor(events: TopEvents, post: Post, foldAll: () => void, search: HTMLElement) {
    const tool = (name: IconName, label: string, press: () => void, more: ButtonProps = {}) =>
      button({ icon: icon(name), label, kind: "quiet", press, ...more });
    const keyed = (label: string, action: Action) => `${label} (${keyOf(action).replace(/^[.,]$/, " $& ")})`;
    const does = (name: IconName, label: string, action: Action, more: ButtonProps = {}) =>
      tool(name, keyed(label, action), () => events.run(action), { verb: verbOf(action), ...more });
    const menu = (name: IconName, label: string, open: (at: Position) => void, kind = "", more: ButtonProps = {}) => {
      const made = tool(
        name,
        label,
        () => {
          const r = made.getBoundingClientRect();
          open({ x: r.left, y: r.bottom + 4 });
        },
        { "aria-haspopup": "menu", class: kind, ...more },
      );
      return made;
    };
    this.#serves = menu("down", SIGNATURES, events.signatures, "gs-serves", {
      text: "\u25be",
      "aria-label": SIGNATURES,
      verb: "show_signature",
    });
    const { outline, inspector, plan } = (this.#sides = {
      outline: tool("left", "Outline", events.outline),
      inspector: tool("right", "Inspector", events.inspector),
      plan: tool("bottom", "Plan", events.plan, { class: "gs-plan-switch" }),
    });
    this.#full = does("full", "Full screen", "full", { "aria-pressed": "false" });
    this.#back = does("back", "Back", "back");
    this.#forward = does("forward", "Forward", "forward");
    this.#directionButton = tool("down", "Direction", () => post("set_direction", { direction: this.#direction === "TB" ? "LR" : "TB" }), {
      verb: "set_direction",
    });
    this.#scale = button({
      text: "100%",
      label: keyed("Zoom to 100 %", "actual"),
      kind: "quiet",
      class: "gs-scale",
      press: () => events.run("actual"),
    });
    this.element = h(
      "div",
      { class: "gs-top", role: "toolbar", "aria-label": "Screen" },
      outline,
      this.#title,
      this.#serves,
      this.#figures,
      h(
        "div",
        { class: "gs-tools", role: "group", "aria-label": "View" },
        this.#back,
        this.#forward,
        menu("views", keyed("Views", "views"), events.views, "", { verb: "save_view" }),
        h("span", { class: "gs-rule" }),
        tool("fold", "Fold all scopes", foldAll, { verb: "set_depth" }),
        this.#directionButton,
        menu("eye", keyed("View options", "seen"), events.visibility, "", { verb: verbOf("seen") }),
        menu("colors", "Colors", events.colors, "", { verb: "paint" }),
        h("span", { class: "gs-rule" }),
        does("fit", "Fit to window", "fit"),
        does("minus", "Zoom out", "out"),
        this.#scale,
        does("plus", "Zoom in", "in"),
      ),
      h(
        "div",
        { class: "gs-top-end" },
        menu("recipes", RECIPES, events.recipes, "gs-recipes", { text: "Recipes", "aria-label": RECIPES, verb: "recipes" }),
        button({
          icon: icon("run"),
          text: "Run",
          label: keyed("Run the graph with inputs", "run"),
          class: "gs-run-button",
          verb: "run",
          press: () => events.run("run"),
        }),
        search,
        does("help", "Keyboard shortcuts and symbols", "help"),
        plan,
        inspector,
        this.#full,
      ),
    );
    this.#refreshStops = rove(this.element);
  }

  update(title: string, figures: string, direction: Direction): void {
    fill(this.#title, title);
    this.#title.title = title.slice(0, 300);
    fill(this.#figures, h("span", {}, figures));
    this.#figures.title = figures;
    if (direction !== this.#direction || !this.#directionButton.title) {
      this.#direction = direction;
      this.#directionButton.replaceChildren(icon(direction === "TB" ? "down" : "across"));
    }
    const label = direction === "TB" ? "Draw from left to right" : "Draw from top to bottom";
    setAttribute(this.#directionButton, "aria-label", label);
    this.#directionButton.title = label;
  }

  views(views: Views | undefined): void {
    this.#back.disabled = !views?.back;
    this.#forward.disabled = !views?.forward;
    this.#serves.hidden = !views?.signatures?.[1];
    fill(this.#serves, h("span", {}, `${views?.signature || "raw file"} \u25be`));
    this.#refreshStops();
  }

  zoom(k: number): void {
    const text = `${Math.round(k * 100)}%`;
    if (this.#scale.textContent !== text) fill(this.#scale, h("span", {}, text));
  }

  full(on: boolean): void {
    setAttribute(this.#full, "aria-pressed", on);
  }

  sides(open: ViewState["sides"]): void {
    for (const side of ["outline", "inspector", "plan"] as const) setAttribute(this.#sides[side], "aria-pressed", open[side]);
  }
}
