// The bar at the top: title, view, direction, search.
import { count, countOf, rove } from "./dom";
import type { IconName } from "./icons";
import { button, type ButtonOptions, does, keyed } from "./parts";
import { make, draw, h, type VNode } from "./vnodes";
import type { Action } from "../commands/keys";
import type { KeyActions } from "../commands/key_actions";
import type { ViewState } from "../state/store";
import type { Position } from "./popup";

type Sides = ViewState["sides"];

export class TopBar {
  readonly element = make("div");
  readonly #refreshStops: () => void;
  #zoom = "100%";

  /** `sides` opens or closes the panels at the sides; `search` is the search box. */
  constructor(
    readonly gestures: KeyActions,
    readonly sides: (panel: Partial<Sides>) => void,
    search: HTMLElement,
  ) {
    this.draw();
    this.element.querySelector(".gs-run-button")!.after(search);
    this.#refreshStops = rove(this.element);
  }

  zoom(k: number): void {
    const text = `${Math.round(k * 100)}%`;
    if (text === this.#zoom) return;
    this.#zoom = text;
    this.draw();
  }

  draw(): void {
    const { gestures } = this,
      { actions, appearance, navigation, recipes } = gestures,
      { model, store, panes, size } = actions.ui,
      { source } = model.get("scenes"),
      stats = source?.stats,
      title = model.get("titles").source,
      views = model.get("views"),
      down = source?.direction !== "LR";
    const hidden = Object.entries(stats?.hidden ?? {}).flatMap(([what, n]) => (n ? `${countOf(n, what)} hidden` : [])),
      figures = stats ? [count(stats.ops, "op"), ...hidden, stats.degraded].filter(Boolean).join(" \u00b7 ") : "";
    const tool = (icon: IconName, label: string, onclick: (e: Event) => void, more: ButtonOptions = {}) =>
      button({ icon, label, kind: "quiet", onclick, ...more });
    const key = (icon: IconName, label: string, action: Action, more: ButtonOptions = {}) =>
      does(gestures.do, action, label, { icon, kind: "quiet", ...more });
    const menu = (icon: IconName, label: string, open: (at: Position) => void, more: ButtonOptions = {}) => {
      const below = (e: Event) => {
        const r = (e.currentTarget as Element).getBoundingClientRect();
        open({ x: r.left, y: r.bottom + 4 });
      };
      return tool(icon, label, below, { "aria-haspopup": "menu", ...more });
    };
    const side = (icon: IconName, label: string, name: keyof Sides, more: ButtonOptions = {}) =>
      tool(icon, label, () => this.sides({ [name]: !store.state.sides[name] }), { "aria-pressed": store.state.sides[name], ...more });
    /** A button with a text, which is not its name. */
    const named = (label: string, text: string): ButtonOptions => ({ text, label, "aria-label": label });
    const signatures = "Signatures and functions of the file",
      rule = (): VNode => h("span.gs-rule");
    draw(
      this.element,
      h(
        "div.gs-top",
        { role: "toolbar", "aria-label": "Screen" },
        side("left", "Outline", "outline"),
        h("div.gs-title", { title }, title),
        menu("down", signatures, at => navigation.signatures(at), {
          ...named(signatures, `${views?.signature || "raw file"} \u25be`),
          icon: undefined,
          class: "gs-serves",
          verb: "show_signature",
          hidden: !views?.signatures?.[1],
        }),
        h("span.gs-muted.gs-title-figures", { title: figures }, h("span", figures)),
        h(
          "div.gs-tools",
          { role: "group", "aria-label": "View" },
          key("back", "Back", "back", { disabled: !views?.back }),
          key("forward", "Forward", "forward", { disabled: !views?.forward }),
          menu("views", keyed("Views", "views"), at => navigation.menu(panes.source, at), { verb: "save_view" }),
          rule(),
          tool("fold", "Fold all scopes", () => actions.post("set_depth", { depth: 0, pane: store.state.active }), { verb: "set_depth" }),
          tool(
            down ? "down" : "across",
            down ? "Draw from left to right" : "Draw from top to bottom",
            () => actions.post("set_direction", { direction: down ? "LR" : "TB" }),
            { verb: "set_direction" },
          ),
          menu("eye", keyed("View options", "seen"), at => appearance.menu(store.state.active, at), { verb: "set_depth" }),
          menu("colors", "Colors", at => appearance.colors(at), { verb: "paint" }),
          rule(),
          key("fit", "Fit to window", "fit"),
          key("minus", "Zoom out", "out"),
          does(gestures.do, "actual", "Zoom to 100 %", { text: this.#zoom, kind: "quiet", class: "gs-scale" }),
          key("plus", "Zoom in", "in"),
        ),
        h(
          "div.gs-top-end",
          menu("recipes", "", at => void recipes.menu(at), {
            ...named(keyed("Recipes", "recipes"), "Recipes"),
            class: "gs-recipes",
            verb: "recipes",
          }),
          does(gestures.do, "run", "Run the graph with inputs", { icon: "run", text: "Run", class: "gs-run-button" }),
          key("help", "Keyboard shortcuts and symbols", "help"),
          side("bottom", "Plan", "plan", { class: "gs-plan-switch" }),
          side("right", "Inspector", "inspector"),
          key("full", "Full screen", "full", { "aria-pressed": size.full }),
        ),
      ),
    );
    this.#refreshStops?.();
  }
}
