// Puts the parts of the screen together and keeps them in step with the model.
import { Api, type Ask } from "./api";
import { count, counted, h, handled, hasFocus, painted } from "./dom";
import { actionOf, Hands } from "./hands";
import { Inspector } from "./inspector";
import { Outline } from "./outline";
import { Pane, type PaneEvents } from "./pane";
import { PlanBar } from "./planbar";
import { Popup } from "./popup";
import { Search } from "./search";
import { StatusBar } from "./statusbar";
import { Store, type ViewState } from "./store";
import { followTheme } from "./theme";
import { TopBar } from "./topbar";
import type { PaneName } from "./verbs";
import type { Model, State } from "./types";

const NARROW = 900,
  SMALL = 620,
  THREE = 1000,
  TWO = 1500;

/** Shows `model` in `host`; returns what takes everything away again. */
export function mount(model: Model, host: HTMLElement): () => void {
  // ids are page-global: two views must not share one
  const id = "gs" + Math.random().toString(36).slice(2, 9);
  // a click on what takes no keys of its own gives them to the widget, and never to the notebook around it
  const root = h("div", { class: "gs", role: "group", "aria-label": "graphsurgeon", tabindex: -1 });
  host.append(root);
  root.classList.toggle("gs-still", !!model.get("still"));
  let sidesChosen = false,
    width = 0;
  const store = new Store(),
    ask: Ask = (verb, args) => acts.ask(verb, args);

  const status = new StatusBar(
    () => ask("cancel", {}),
    keys => acts.fade(keys),
  );
  const api = new Api(
    model,
    () => {
      const n = api.pending();
      root.toggleAttribute("data-waits", n > 0);
      status.pending(n);
    },
    text => status.say(text, "warn"),
  );
  const popup = new Popup(root, id);
  const events: PaneEvents = {
    selected: (pane, names, mode) => acts.select(pane, names, mode),
    opened: (pane, item) => acts.open(pane, item),
    edge: (pane, edge) => acts.showEdge(pane, edge),
    menu: (pane, item, x, y) => hands.menu(pane, item.of, { x, y }),
    looked: pane => {
      if (pane.name === store.now.active) top.zoomed(pane.view.k);
    },
    focused: pane => activate(pane.name),
  };
  const panes = { source: new Pane("source", events), destination: new Pane("destination", events) };
  const inspector = new Inspector(id, ask, {
    revealed: name => acts.reveal(store.now.active, name),
    asked: name => acts.send("value", { name }),
    fetched: tensor => acts.send("fetch", { tensor }),
    said: text => status.say(text),
  });
  const plan = new PlanBar(id, ask, {
    copied: (to, unmapped) => void acts.copy(to, unmapped),
    applied: () => acts.apply(),
    tried: () => hands.do("try"),
    compared: () => void hands.runs.ask("applied"),
    said: text => status.say(text),
    went: name => {
      const run = model.get("run");
      acts.reveal(run && "pane" in run ? run.pane : "source", name);
    },
  });
  const outline = new Outline({
    toggled: row => ask(row.open ? "outline_close" : "outline_open", { name: row.name }),
    revealed: row => acts.reveal("source", row.name, false),
    selected: (row, mode) => acts.select(panes.source, [row.name], mode),
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
      outline: () => sides({ outline: !store.now.sides.outline }, true),
      inspector: () => sides({ inspector: !store.now.sides.inspector }, true),
      seen: at => hands.looks.menu(store.now.active, at),
      served: at => {
        const { served, serves } = model.get("views")!;
        popup.choose(
          "Signatures and functions of the file",
          served!.map(name => ({ text: name, on: name === serves, run: () => ask("show_signature", { name }) })),
          at,
        );
      },
      colours: at => hands.looks.colours(at),
    },
    ask,
    () => ask("fold_all", { pane: store.now.active }),
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

  /** Selections, marks and the start of a connection: all that changes without a new scene. */
  function highlight(): void {
    const { selected, armed, edge, faded } = store.now;
    for (const pane of [panes.source, panes.destination]) {
      pane.drawing.select(selected[pane.name]);
      pane.drawing.mark(pane.name === "source" ? model.get("boundary") : null, armed?.pane === pane.name ? armed.box : null);
      pane.drawing.lightEdge(edge);
      pane.drawing.fade(faded ?? pane.scene?.legend?.faded ?? []);
      pane.drawing.join(new Set(model.get("plan").connections.map(c => c.from)));
    }
    const b = model.get("boundary");
    panes.source.cared = [
      ...selected.source,
      ...Object.keys(b.boxes),
      ...[...b.inputs, ...b.outputs].map(t => t.tensor.replace(/:\d+$/, "")),
    ];
    outline.select(selected.source);
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
      titles = model.get("titles");
    // in a narrow cell one pane is seen: a preview that has just come is the one to look at
    if (destination && !panes.destination.scene && width && width < NARROW && model.get("plan").steps.length)
      store.set({ active: "destination" });
    if (!destination && store.now.active === "destination") store.set({ active: "source" });
    const other = panes[store.now.active === "source" ? "destination" : "source"].element;
    const lost = (!destination || (width && width < NARROW)) && hasFocus(other);
    tabs();
    room();
    panes.source.update(source ?? null, titles.source ?? "");
    panes.destination.update(destination ?? null, titles.destination ?? "");
    const stats = source?.stats;
    const hidden = Object.entries(stats?.hidden ?? {})
      .filter(([, n]) => n)
      .map(([what, n]) => `${counted(n, what)} hidden`);
    const figures = stats ? [count(stats.ops, "op"), ...hidden, stats.degraded].filter(Boolean).join(" \u00b7 ") : "";
    top.update(titles.source ?? "", figures, source?.direction ?? "TB");
    status.colours([source, destination]);
    highlight();
    if (lost) focusPane();
    if (model.get("inferred") === false) painted(() => api.tell("infer", {}));
  }

  /** A button that has just done its last work does not keep the keyboard. */
  function planned(): void {
    plan.update(model.get("boundary"), model.get("plan"), model.get("run"), model.get("look")?.name ?? "");
    if (root.querySelector(":disabled:focus")) focusPane();
  }

  /** What the inspector shows has other numbers now. */
  function ran(): void {
    planned();
    void acts.inspect(acts.pane);
  }

  const changed: Partial<Record<keyof State, () => void>> = {
    scenes: draw,
    titles: draw,
    look: () => {
      draw();
      planned();
    },
    selected: () => acts.adopt(),
    boundary: () => {
      highlight();
      inspector.update(model.get("boundary"));
      planned();
    },
    plan: planned,
    run: ran,
    status: () => status.update(model.get("status")),
    outline: () => outline.update(model.get("outline").rows ?? [], acts.selected.source),
    views: () => top.places(model.get("views")),
    theme: () => theme.update(),
  };
  for (const [name, call] of Object.entries(changed)) model.on(`change:${name}`, call);

  root.addEventListener("keydown", e => {
    const target = e.target as HTMLElement,
      typing = target.matches("input:not([type=radio]), textarea, select");
    const action = actionOf(e);
    if (!typing && (e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "a") handled(e); // the text around a picture is no selection
    if (!action || (typing && action !== "escape" && action !== "apply")) return;
    // buttons and links keep their own Enter, Space and arrows
    const inDrawing = target === root || !!target.closest(".gs-canvas");
    if (!inDrawing && ["open", "select", "toggle", "up", "down", "left", "right", "first", "last", "menu"].includes(action)) return;
    handled(e);
    if (typing && action === "escape") focusPane();
    else hands.do(action, e.key);
  });

  root.addEventListener("contextmenu", e => {
    if (e.defaultPrevented || (e.target as HTMLElement).matches("input, textarea")) return;
    handled(e); // notebooks open a menu of their own further up
    const { pane } = acts;
    if (pane.canvas.contains(e.target as Node)) hands.looks.menu(pane.name, { x: e.clientX, y: e.clientY });
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
  for (const name of ["outline", "boundary", "status", "views", "scenes"] as const) changed[name]!();
  acts.adopt(true);

  return () => {
    for (const [name, call] of Object.entries(changed)) model.off(`change:${name}`, call);
    size?.disconnect();
    theme.stop();
    search.stop();
    status.close();
    api.close();
    root.remove();
  };
}
