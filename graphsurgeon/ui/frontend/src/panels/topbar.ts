// The bar at the top: title, view, direction, search.
import { countOf, rove, setTabStop } from "./dom";
import type { IconName } from "./icons";
import { belowButton, button, type ButtonOptions, group, type Position } from "./parts";
import { make, draw, h, type VNode } from "./vnodes";
import { colorMenu } from "../commands/appearance";
import type { Action } from "../commands/keys";
import { chooseSignature } from "../commands/navigation";
import type { Registry } from "../commands/registry";
import type { ViewState } from "../state/store";

type Sides = ViewState["sides"];

/** Makes the bar: `sides` opens or closes the panels at the sides; `search` is the search box. */
export function topBar(commands: Registry, sides: (panel: Partial<Sides>) => void, search: HTMLElement) {
  const element = make("div");
  let zoom = "";

  /** `sides` opens or closes the panels at the sides; `search` is the search box. */

  /** Shows another zoom. */
  function updateZoom(): void {
    if (zoomText() !== zoom) redraw();
  }

  function zoomText(): string {
    const { pane } = commands;
    return `${Math.round(pane.view.k * 100)}%`;
  }

  function redraw(): void {
    const { model, store, size } = commands,
      { source } = model.get("scenes"),
      stats = source?.stats,
      title = model.get("titles").source,
      views = model.get("views"),
      down = source?.direction !== "LR";
    const hidden = Object.entries(stats?.hidden ?? {}).flatMap(([what, n]) => (n ? `${countOf(n, what)} hidden` : [])),
      figures = stats ? [countOf(stats.ops, "ops"), ...hidden, stats.degraded].filter(Boolean).join(" \u00b7 ") : "";
    const tool = (icon: IconName, label: string, onclick: (e: Event) => void, more: ButtonOptions = {}) =>
      button({ icon, label, kind: "quiet", onclick, ...more });
    const key = (icon: IconName, action: Action, more: ButtonOptions = {}) => commands.button(action, { icon, kind: "quiet", ...more });
    const menu = (icon: IconName, label: string, open: (at: Position) => void, more: ButtonOptions = {}) =>
      tool(icon, label, e => open(belowButton(e)), { "aria-haspopup": "menu", ...more });
    const side = (icon: IconName, label: string, name: keyof Sides, more: ButtonOptions = {}) =>
      tool(icon, label, () => sides({ [name]: !store.state.sides[name] }), { "aria-pressed": store.state.sides[name], ...more });
    const signatures = "Signatures and functions of the file",
      rule = (): VNode => h("span.gs-rule");
    draw(
      element,
      h(
        "div.gs-top",
        { role: "toolbar", "aria-label": "Screen", onkeydown: rove, onfocusin: (e: Event) => setTabStop(element, e.target) },
        side("left", "Outline", "outline"),
        h("div.gs-title", { title }, title),
        menu("down", signatures, at => chooseSignature(commands, at), {
          text: `${views?.signature || "raw file"} \u25be`,
          "aria-label": signatures,
          icon: undefined,
          class: "gs-serves",
          verb: "show_signature",
          hidden: !views?.signatures?.[1],
        }),
        h("span.gs-muted.gs-title-figures", { title: figures }, h("span", figures)),
        group(
          "div.gs-tools",
          "View",
          key("back", "back"),
          key("forward", "forward"),
          key("views", "views", { "aria-haspopup": "menu", verb: "save_view" }),
          rule(),
          tool("fold", "Fold all scopes", () => commands.post("set_depth", { depth: 0, pane: store.state.active }), { verb: "set_depth" }),
          tool(
            down ? "down" : "across",
            down ? "Draw from left to right" : "Draw from top to bottom",
            () => commands.post("set_direction", { direction: down ? "LR" : "TB" }),
            { verb: "set_direction" },
          ),
          key("eye", "seen", { "aria-haspopup": "menu" }),
          menu("colors", "Colors", at => colorMenu(commands, at), { verb: "paint" }),
          rule(),
          key("fit", "fit"),
          key("minus", "out"),
          commands.button("actual", { text: (zoom = zoomText()), kind: "quiet", class: "gs-scale" }),
          key("plus", "in"),
        ),
        h(
          "div.gs-top-end",
          key("recipes", "recipes", { text: "Recipes", "aria-label": "Recipes (Shift+R)", "aria-haspopup": "menu", class: "gs-recipes" }),
          commands.button("run", { icon: "run", text: "Run", class: "gs-run-button" }),
          key("help", "help"),
          side("bottom", "Plan", "plan", { class: "gs-plan-switch" }),
          side("right", "Inspector", "inspector"),
          key("full", "full", { "aria-pressed": size.full }),
        ),
      ),
    );
    setTabStop(element);
  }

  redraw();
  element.querySelector(".gs-run-button")!.after(search);

  return { element, draw: redraw, zoom: updateZoom };
}
