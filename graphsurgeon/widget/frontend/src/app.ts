// Puts the parts of the screen together and keeps them in step with the model.
import { Api } from "./api";
import { besides, count, h } from "./dom";
import { Hands } from "./hands";
import { Inspector } from "./inspector";
import { actionOf } from "./keys";
import { Outline } from "./outline";
import { Pane, type PaneEvents } from "./pane";
import { PlanBar } from "./planbar";
import { Popup } from "./popup";
import { Search } from "./search";
import { StatusBar } from "./statusbar";
import { Store, type ViewState } from "./store";
import { followTheme } from "./theme";
import { TopBar } from "./topbar";
import type { PaneName } from "./table";
import type { Model, State } from "./types";

const NARROW = 900,
  SMALL = 620,
  THREE = 1000,
  TWO = 1500;

/** Shows `model` in `host`; returns what takes everything away again. */
export function mount(model: Model, host: HTMLElement): () => void {
  // ids are page-global: two views must not share one
  const id = "gs" + Math.random().toString(36).slice(2, 9);
  const root = h("div", { class: "gs", role: "group", "aria-label": "graphsurgeon" });
  host.append(root);
  root.classList.toggle("gs-still", !!model.get("still"));
  let inside = "",
    sidesChosen = false,
    width = 0;
  const store = new Store();

  const status = new StatusBar(
    () => acts.ask("cancel", {}),
    keys => acts.fade(keys),
  );
  const api = new Api(
    model,
    () => status.pending(api.pending()),
    text => status.say(text, "warn"),
  );
  const popup = new Popup(root);
  const events: PaneEvents = {
    picked: (pane, names, mode) => acts.pick(pane, names, mode),
    opened: (pane, item) => acts.open(pane, item),
    edge: (pane, edge) => acts.showEdge(pane, edge),
    menu: (pane, item, x, y) => hands.menu(pane, item.of, { x, y }),
    looked: pane => {
      if (pane.name === store.now.active) top.zoomed(pane.view.k);
    },
    focused: pane => activate(pane.name),
  };
  const panes = { source: new Pane("source", events), destination: new Pane("destination", events) };
  const inspector = new Inspector(id, {
    marked: (tensor, as) => acts.mark(tensor, as),
    unmarked: tensor => acts.ask("unmark", { tensor }),
    revealed: name => acts.reveal(store.now.active, name),
    // their buttons go with what they lead away from: the keyboard must not go with them
    inside: (name, fn) => {
      acts.ask("look_inside", { name, function: fn });
      focusPane();
    },
    asked: name => acts.send("value", { name }),
    around: () => acts.ask("boundary_of_picked", {}),
    said: text => status.say(text),
  });
  const plan = new PlanBar(id, {
    copied: (to, unmapped) => void acts.copy(to, unmapped),
    undone: () => acts.ask("undo", {}),
    redone: () => acts.ask("redo", {}),
    applied: () => acts.apply(),
    unmarked: tensor => acts.ask("unmark", { tensor }),
    leakAdded: tensor => acts.ask("add_leak", { tensor }),
    policySet: (step, variable, policy) => acts.ask("set_policy", { step, variable, policy }),
    cleared: () => acts.ask("clear_boundary", {}),
    said: text => status.say(text),
  });
  const outline = new Outline({
    toggled: row => acts.ask(row.open ? "outline_close" : "outline_open", { name: row.name }),
    revealed: row => acts.reveal("source", row.name, false),
    picked: (row, mode) => acts.pick(panes.source, [row.name], mode),
  });
  const search = new Search(
    id,
    query => api.call("find", { query }),
    hit => acts.reveal("source", hit.name),
    () => focusPane(),
    boxes => panes.source.drawing.found(boxes),
  );
  const top = new TopBar(
    {
      does: action => hands.do(action),
      views: at => hands.going.menu(panes.source, at),
      foldAll: () => acts.ask("fold_all", { pane: store.now.active }),
      turn: direction => acts.ask("set_direction", { direction }),
      outline: () => sides({ outline: !store.now.sides.outline }, true),
      inspector: () => sides({ inspector: !store.now.sides.inspector }, true),
      seen: at => hands.seen.menu(store.now.active, at),
      colours: at => hands.seen.colours(at),
      leave: () => {
        acts.ask("leave", {});
        focusPane();
      },
    },
    search.element,
  );
  const paneTabs = h("div", { class: "gs-pane-tabs", role: "group", "aria-label": "Panes" });
  const hands: Hands = new Hands({ model, api, store, panes, inspector, plan, status, popup, search }),
    { acts } = hands;
  store.listen(highlight);

  const main = h(
    "div",
    { class: "gs-main" },
    outline.element,
    h("div", { class: "gs-panes" }, paneTabs, h("div", { class: "gs-pane-row" }, panes.source.element, panes.destination.element)),
    inspector.element,
  );
  root.append(top.element, main, plan.element, status.element, popup.layer);

  function activate(name: PaneName): void {
    if (store.now.active === name) return;
    store.set({ active: name });
    top.zoomed(panes[name].view.k);
    tabs();
  }

  function focusPane(): void {
    const { pane } = acts,
      item = pane.current;
    if (item) pane.focus(item, false);
  }

  /** Picks, marks and the start of a connection: all that changes without a new scene. */
  function highlight(): void {
    const { picked, armed, edge, faded } = store.now;
    for (const pane of [panes.source, panes.destination]) {
      pane.drawing.pick(picked[pane.name]);
      pane.drawing.mark(pane.name === "source" && !inside ? model.get("boundary") : null, armed?.pane === pane.name ? armed.box : null);
      pane.drawing.lightEdge(edge);
      pane.drawing.fade(faded ?? pane.scene?.legend?.faded ?? []);
      pane.drawing.join(new Set(model.get("plan").connections.map(c => c.from)));
    }
    const b = model.get("boundary");
    panes.source.cared = [
      ...picked.source,
      ...Object.keys(b.boxes),
      ...[...b.inputs, ...b.outputs].map(t => t.tensor.replace(/:\d+$/, "")),
    ];
    outline.pick(picked.source);
  }

  function tabs(): void {
    const { active } = store.now,
      titles = { source: "Source", destination: "Destination" };
    root.classList.toggle("gs-two", !!model.get("scenes").destination);
    root.dataset.pane = active;
    paneTabs.replaceChildren(
      ...(["source", "destination"] as const).map(name =>
        h(
          "button",
          {
            type: "button",
            class: "gs-tab",
            "aria-pressed": String(active === name),
            on: {
              click: () => {
                activate(name);
                focusPane();
              },
            },
          },
          titles[name],
        ),
      ),
    );
  }

  /** Opens or closes panels at the sides; once it was done by hand, the width of the cell changes nothing. */
  function sides(panel: Partial<ViewState["sides"]> = {}, byHand = false): void {
    sidesChosen ||= byHand;
    const { outline, inspector } = { ...store.now.sides, ...panel };
    store.set({ sides: { outline, inspector } });
    root.classList.toggle("gs-no-outline", !outline);
    root.classList.toggle("gs-no-inspector", !inspector);
    top.sides(outline, inspector);
    panes.source.resized();
    panes.destination.resized();
  }

  /** Without a choice of the person's, the sides give way to the panes. */
  function room(): void {
    if (sidesChosen || !width) return;
    const two = !!model.get("scenes").destination && width >= NARROW;
    sides({ outline: width >= (two ? TWO : NARROW), inspector: width >= (two ? THREE : SMALL) });
  }

  function draw(): void {
    const { source, destination } = model.get("scenes"),
      titles = model.get("titles"),
      where = String(model.get("look")?.inside ?? "");
    if (where !== inside) panes.source.elsewhere();
    inside = where;
    // in a narrow cell one pane is seen: a preview that has just come is the one to look at
    if (destination && !panes.destination.scene && width && width < NARROW && model.get("plan").steps.length)
      store.set({ active: "destination" });
    if (!destination && store.now.active === "destination") store.set({ active: "source" });
    const other = panes[store.now.active === "source" ? "destination" : "source"].element;
    const lost = (!destination || (width && width < NARROW)) && other.contains(document.activeElement);
    tabs();
    room();
    panes.source.update(source ?? null, titles.source ?? "");
    panes.destination.update(destination ?? null, titles.destination ?? "");
    const stats = source?.stats;
    const aside = Object.entries(stats?.aside ?? {})
      .filter(([, n]) => n)
      .map(([what, n]) => besides(n, what));
    const figures = stats ? [count(stats.ops, "op"), ...aside, stats.degraded].filter(Boolean).join(" \u00b7 ") : "";
    top.update(titles.source ?? "", figures, source?.direction ?? "TB", model.get("look")?.inside ?? []);
    status.colours([source, destination]);
    highlight();
    if (lost) focusPane();
  }

  /** A button that has just done its last work does not keep the keyboard. */
  function planned(): void {
    plan.update(model.get("boundary"), model.get("plan"));
    if (root.querySelector(":disabled:focus")) focusPane();
  }

  const listen: [keyof State, () => void][] = [
    ["scenes", draw],
    ["titles", draw],
    ["look", draw],
    ["picked", () => acts.adopt()],
    [
      "boundary",
      () => {
        highlight();
        inspector.update(model.get("boundary"));
        planned();
      },
    ],
    ["plan", planned],
    ["status", () => status.update(model.get("status"))],
    ["outline", () => outline.update(model.get("outline").rows, acts.picked.source)],
    ["views", () => top.places(model.get("views"))],
    ["theme", () => theme.update()],
  ];
  for (const [name, call] of listen) model.on(`change:${name}`, call);

  root.addEventListener("keydown", e => {
    const target = e.target as HTMLElement,
      typing = target.matches("input:not([type=radio]), textarea, select");
    const action = actionOf(e);
    if (!action || (typing && action !== "escape" && action !== "apply")) return;
    // buttons and links keep their own Enter, Space and arrows
    const inDrawing = !!target.closest(".gs-canvas");
    if (!inDrawing && ["open", "pick", "toggle", "up", "down", "left", "right", "first", "last", "menu"].includes(action)) return;
    e.preventDefault();
    e.stopPropagation();
    if (typing && action === "escape") focusPane();
    else hands.do(action, e.key);
  });

  const theme = followTheme(root, () => model.get("theme") ?? "auto");
  const size =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(seen => {
          panes.source.resized();
          panes.destination.resized();
          if (!seen.some(e => e.target === root)) return;
          width = root.clientWidth;
          root.classList.toggle("gs-w-narrow", width < NARROW);
          root.classList.toggle("gs-w-small", width < SMALL);
          room();
        });
  for (const element of [root, panes.source.canvas, panes.destination.canvas]) size?.observe(element);

  sides();
  outline.update(model.get("outline").rows ?? [], acts.picked.source);
  plan.update(model.get("boundary"), model.get("plan"));
  inspector.update(model.get("boundary"));
  status.update(model.get("status"));
  top.places(model.get("views"));
  draw();
  acts.adopt(true);

  return () => {
    for (const [name, call] of listen) model.off(`change:${name}`, call);
    size?.disconnect();
    theme.stop();
    search.stop();
    status.close();
    api.close();
    root.remove();
  };
}
