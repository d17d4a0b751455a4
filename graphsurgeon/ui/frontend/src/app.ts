// Builds the screen from its parts, and updates them from the model.
import { Api, type Ask, GONE_TEXT } from "./model/api";
import { type Camera, CameraHistory } from "./state/cameras";
import { Changes } from "./state/changes";
import { count, counted, h, handled, hasFocus } from "./panels/dom";
import { actionOf, Hands } from "./commands/gestures";
import { Inspector } from "./panels/inspector";
import { keep, kept } from "./state/stored_plan";
import { align, follow, type Look } from "./state/linked_panes";
import { Outline } from "./panels/outline";
import { Over } from "./canvas/overlay";
import { Pane, type PaneEvents } from "./canvas/pane";
import { PlanBar } from "./panels/planbar";
import { Popup } from "./panels/popup";
import { Room } from "./panels/size";
import { Search } from "./panels/search";
import { StatusBar } from "./panels/statusbar";
import { Store, type ViewState } from "./state/store";
import { followTheme } from "./panels/theme";
import { TopBar } from "./panels/topbar";
import type { PaneName, PlanView, Verbs } from "./model/verbs.generated";
import type { Model, State } from "./model/types";

const NARROW = 900,
  SMALL = 620,
  THREE = 1000,
  TWO = 1500;
/** The delay before shapes are inferred, in ms, so that the first gestures are handled first. */
const LEISURE = 1000;

const STAGE_NAMES = { before: "Before", after: "After", both: "Both" },
  STAGE_WORDS = {
    before: "the current graph.",
    after: "the graph with the plan applied.",
    both: "the current graph, and the graph with the plan applied; they pan and zoom together.",
  };

/** Shows `model` in `host`; returns a function that removes it. */
export function mount(model: Model, host: HTMLElement): () => void {
  // ids are global to the page: two views must have different ids
  const id = "gs" + Math.random().toString(36).slice(2, 9);
  // a click on an element without key handlers moves the focus to the widget, not to the notebook around it
  const root = h("div", { class: "gs", role: "group", "aria-label": "graphsurgeon", tabindex: -1 });
  host.append(root);
  root.classList.toggle("gs-still", !!model.get("still"));
  /** the last view of each pane, and whether code is moving it */
  const looks = new Map<PaneName, Look>();
  let placing = false,
    /** whether the new boxes are far from the old ones, so that before and after show different places */ apart = false,
    /** the camera of the picture before the plan, unless the user has moved it since */ unstaged: Camera | undefined,
    sidesChosen = false,
    width = 0,
    had = "",
    soon = 0,
    knownStage: PlanView = model.get("look")?.plan_view ?? "both";
  const store = new Store(),
    cameras = new CameraHistory(model),
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
    () => {
      status.say(GONE_TEXT, "warn");
      plan.lost();
      watch();
      if (root.querySelector(":disabled:focus")) focusPane();
    },
  );
  const popup = new Popup(root, id, api);
  const events: PaneEvents = {
    selected: (pane, names, mode) => acts.select(pane, names, mode),
    opened: (pane, item) => acts.open(pane, item),
    edge: (pane, edge) => acts.showEdge(pane, edge),
    menu: (pane, of, x, y) => ("g" in of ? hands.boxes.menu(pane, of.of, { x, y }) : hands.edges.menu(pane, of, { x, y })),
    dragged: (pane, e) => hands.dragged(pane, e),
    looked: pane => {
      const { x, y, k } = pane.view,
        was = looks.get(pane.name);
      looks.set(pane.name, { x, y, k });
      if (was && !placing) linked(pane, was);
      if (was && !placing) unstaged = undefined;
      if (pane.name === store.now.active) top.zoomed(pane.view.k);
    },
    focused: pane => activate(pane.name),
    alone: pane => {
      store.set({ alone: !store.now.alone });
      activate(pane.name);
      tabs();
      tellStage();
    },
  };
  const over = new Over(),
    panes = { source: new Pane("source", events, over), destination: new Pane("destination", events, over) };
  const inspector = new Inspector(id, ask, {
    revealed: name => acts.reveal(store.now.active, name),
    asked: name => acts.send("value", { name }),
    fetched: tensor => acts.send("fetch", { tensor }),
    said: text => status.say(text),
    editable: () => api.answers("set_attr") && !acts.refusal(acts.pane),
    set: (names, a, at) => hands.edits.attrs.set(names, a, at),
    placed: (names, device) => hands.edits.attrs.place(names, device),
    typed: () => hands.do("type"),
    renamed: name => hands.edits.attrs.rename(name),
  });
  const plan = new PlanBar(id, ask, {
    copied: (how, byKey) => void acts.copy(how, byKey),
    pick: (ask, take) => acts.pick(ask, take),
    edited: step => void hands.edits.attrs.step(step),
    applied: () => acts.apply(),
    saves: () => hands.do("save"),
    history: async () => (await acts.send("history_code", {}))?.code ?? null,
    tried: () => hands.do("try"),
    compared: () => void hands.runs.ask("applied"),
    said: text => status.say(text),
    went: (name, pane) => {
      const run = model.get("run");
      acts.reveal(pane ?? (run && "pane" in run ? run.pane : "source"), name);
    },
  });
  const outline = new Outline({
    toggled: row => ask(row.open ? "outline_close" : "outline_open", { name: row.name }),
    revealed: row => acts.reveal("source", row.name, false),
    selected: (row, mode) => acts.select(panes.source, [row.name], mode),
  });
  const search = new Search(
    id,
    query =>
      Promise.all(
        (["source", "destination"] as const)
          .filter(pane => pane === "source" || panes[pane].scene)
          .map(async pane => ({
            pane,
            title: model.get("titles")[pane] ?? pane,
            becomes: pane === "destination" && model.get("plan").same !== false,
            found: await api.call("find", { query, pane }),
          })),
      ),
    ({ pane, name }, keyboard) => acts.reveal(pane, name, keyboard),
    () => focusPane(),
    (pane, boxes) => panes[pane].drawing.found(boxes),
  );
  const top = new TopBar(
    {
      does: action => hands.do(action),
      views: at => hands.going.menu(panes.source, at),
      outline: () => sides({ outline: !store.now.sides.outline }, true),
      inspector: () => sides({ inspector: !store.now.sides.inspector }, true),
      plan: () => sides({ plan: !store.now.sides.plan }, true),
      seen: at => hands.looks.menu(store.now.active, at),
      served: at => {
        const { signatures: served, signature: serves } = model.get("views")!;
        popup.choose(
          "Signatures and functions of the file",
          served!.map(name => ({ text: name, on: name === serves, run: () => ask("show_signature", { name }) })),
          at,
        );
      },
      colors: at => hands.looks.colors(at),
      recipes: at => void hands.recipes.menu(at),
    },
    ask,
    () => ask("set_depth", { depth: 0, pane: store.now.active }),
    search.element,
  );
  const paneTabs = h("div", { class: "gs-pane-tabs", role: "group", "aria-label": "Panes" });
  const space = new Room(root, !!model.get("still"), on => top.full(on));
  const hands: Hands = new Hands({
      model,
      api,
      store,
      panes,
      inspector,
      plan,
      status,
      popup,
      over,
      search,
      room: space,
      cameras,
      stages: () => stage(),
      changes: by => steps.step(by, true),
    }),
    { acts } = hands,
    steps = new Changes(acts, lookAt);
  store.listen(highlight);

  const dock = h("div", { class: "gs-dock" }),
    right = h("div", { class: "gs-right" }, inspector.element);
  const main = h(
    "div",
    { class: "gs-main" },
    h("div", { class: "gs-left" }, outline.element, dock),
    h(
      "div",
      { class: "gs-panes" },
      h("div", { class: "gs-pane-bar" }, paneTabs, steps.element),
      hands.lens.element,
      h("div", { class: "gs-pane-row" }, panes.source.element, panes.destination.element),
    ),
    right,
  );
  root.append(top.element, main, plan.element, status.element, space.grip, over.element, popup.layer);

  /** Controls are offered if the verbs that they send are answered: else a saved page lacks them, and without a kernel they
   * are gray. */
  function offer(): void {
    root.classList.toggle("gs-no-edits", !api.answers("connect"));
    for (const e of root.querySelectorAll<HTMLButtonElement>("[data-verb]")) {
      const on = api.answers(e.dataset.verb as keyof Verbs);
      if (!api.gone) e.classList.toggle("gs-unanswered", !on);
      else if (!e.disabled) e.disabled = true;
    }
  }
  const controls = new MutationObserver(offer);
  function watch(): void {
    controls.observe(root, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    offer();
  }

  function activate(name: PaneName): void {
    if (store.now.active === name) return;
    store.set({ active: name });
    for (const pane of [panes.source, panes.destination]) pane.map.seen(pane.name === name);
    top.zoomed(panes[name].view.k);
    tabs();
  }

  function focusPane(): void {
    const { pane } = acts,
      item = pane.current;
    if (item) pane.focus(item, false);
  }

  /** Updates selections, marks and the start of a connection, which change without a new scene. */
  function highlight(): void {
    const { selected, armed, edge, faded, takers, tool, picking, change } = store.now;
    top.tool(tool);
    hands.lens.update();
    for (const pane of [panes.source, panes.destination]) {
      const here = takers && (takers.pane === pane.name || model.get("plan").same !== false);
      pane.pointer.take(tool);
      pane.drawing.only(hands.lens.names(pane));
      pane.drawing.offer(here ? takers.boxes : null);
      pane.drawing.select(selected[pane.name]);
      pane.drawing.point(change?.pane === pane.name ? change.name : null);
      pane.drawing.mark(
        pane.name === "source" ? (store.now.tried ?? model.get("boundary")) : null,
        armed?.pane === pane.name ? armed.box : null,
      );
      pane.drawing.lightEdge(edge);
      pane.drawing.fade(faded ?? pane.scene?.legend?.faded ?? []);
    }
    const b = model.get("boundary");
    panes.source.cared = [
      ...selected.source,
      ...Object.keys(b.boxes),
      ...[...b.inputs, ...b.outputs].map(t => t.tensor.replace(/:\d+$/, "")),
    ];
    outline.select(selected.source);
    root.classList.toggle("gs-picking", !!picking);
  }

  function tabs(): void {
    const { active } = store.now,
      titles = { source: "Source", destination: "Destination" };
    root.classList.toggle("gs-two", !!model.get("scenes").destination);
    root.classList.toggle("gs-alone", store.now.alone);
    for (const pane of [panes.source, panes.destination]) pane.alone(store.now.alone);
    root.dataset.pane = active;
    const staged = acts.staged,
      now = shownStage(),
      had = [...paneTabs.children].indexOf(document.activeElement!);
    root.classList.toggle("gs-staged", staged);
    steps.update();
    const tab = (text: string, on: boolean, press: () => void) =>
      h("button", { class: "gs-tab", "aria-pressed": String(on), on: { click: press } }, text);
    paneTabs.setAttribute("aria-label", staged ? "Before and after the plan" : "Panes");
    paneTabs.replaceChildren(
      ...(staged
        ? stages().map(one => tab(STAGE_NAMES[one], one === now, () => stage(one)))
        : (["source", "destination"] as const).map(name =>
            tab(titles[name], active === name, () => {
              activate(name);
              focusPane();
            }),
          )),
    );
    if (had >= 0) (paneTabs.children[Math.min(had, paneTabs.children.length - 1)] as HTMLElement).focus();
  }

  function wide(): boolean {
    return !width || width >= NARROW;
  }

  /** Chooses the panes and panels that fit into the width. */
  function stages(): PlanView[] {
    return wide() ? ["before", "after", "both"] : ["before", "after"];
  }

  function shownStage(): PlanView {
    if (wide() && !store.now.alone) return "both";
    return store.now.active === "source" ? "before" : "after";
  }

  /** Makes a pane the active one; if it is hidden, it replaces the other pane. */
  function lookAt(name: PaneName): void {
    const seen = wide() && !store.now.alone;
    if (seen || store.now.active === name) return activate(name);
    if (acts.staged) stage(name === "source" ? "before" : "after");
    else activate(name);
  }

  /** Shows the graph before the plan, after it, or both; without a stage, the next of these. Visible boxes keep their places. */
  function stage(to?: PlanView): void {
    if (!acts.staged) return status.say("There is no plan: before and after are the same.", "warn");
    const known = stages();
    show(to ?? known[(known.indexOf(shownStage()) + 1) % known.length]!);
    status.say(`${STAGE_NAMES[shownStage()]}: ${STAGE_WORDS[shownStage()]}`);
    tellStage();
  }

  /** Sends a chosen stage to the kernel and to other views of this widget. */
  function tellStage(): void {
    if (!acts.staged || !api.answers("set_plan_view")) return;
    knownStage = shownStage();
    ask("set_plan_view", { show: knownStage });
  }

  /** Shows a stage that was chosen by code or in another view. */
  function follows(): void {
    const now = model.get("look")?.plan_view;
    if (!now || now === knownStage || api.pending("set_plan_view")) return;
    knownStage = now;
    if (acts.staged && wide() && now !== shownStage()) show(now);
  }

  function show(next: PlanView): void {
    const from = panes[store.now.active],
      { size } = from;
    store.set({ alone: next !== "both", active: next === "both" ? from.name : next === "before" ? "source" : "destination" });
    tabs();
    const now = panes[store.now.active];
    place(() => {
      panes.source.resized();
      panes.destination.resized();
      align(now === from ? other(now) : now, from, size);
    });
    for (const pane of [panes.source, panes.destination]) pane.map.seen(pane === now);
    top.zoomed(now.view.k);
  }

  function other(pane: Pane): Pane {
    return panes[pane.name === "source" ? "destination" : "source"];
  }

  /** Makes the panes before and after show the same place: that of the active pane, then the new boxes. */
  function lineUp(): void {
    if (!acts.staged) return;
    const now = panes[store.now.active];
    place(() => {
      if (!apart) align(other(now), now, now.size);
      if (!panes.destination.bring()) return;
      align(panes.source, panes.destination, panes.destination.size);
      apart = panes.source.fill();
    });
  }

  /** Moves panes by code; meanwhile, they do not follow each other. */
  function place(act: () => void): void {
    const outer = placing;
    placing = true;
    act();
    placing = outer;
  }

  /** Moves the other of two pictures of one graph like this one. */
  function linked(pane: Pane, was: Look): void {
    if (pane.name !== store.now.active || !acts.staged || !other(pane).size[0]) return;
    panes.destination.seen();
    place(() => follow(other(pane), was, pane.view));
  }

  /** Opens or closes the side panels. After the user has done so, the width of the cell has no effect on them. */
  function sides(panel: Partial<ViewState["sides"]> = {}, byHand = false): void {
    sidesChosen ||= byHand;
    const now = { ...store.now.sides, ...panel };
    store.set({ sides: now });
    for (const [name, on] of Object.entries(now)) root.classList.toggle(`gs-no-${name}`, !on);
    top.sides(now);
    search.dock(now.inspector ? right : null);
    for (const pane of [panes.source, panes.destination]) pane.map.put(now.outline ? dock : pane.canvas);
    place(() => {
      panes.source.resized();
      panes.destination.resized();
    });
  }

  /** Panes have priority over side panels, unless the user has opened or closed these. */
  function room(): void {
    if (sidesChosen || !width) return;
    const two = !!model.get("scenes").destination && width >= NARROW;
    sides({ outline: width >= (two ? TWO : NARROW), inspector: width >= (two ? THREE : SMALL) });
  }

  function draw(): void {
    const { source, destination } = model.get("scenes"),
      titles = model.get("titles"),
      { staged } = acts,
      before = panes.source.camera,
      back = cameras.replace({ source, destination }, { source: before, destination: panes.destination.camera, apart });
    // a narrow cell shows one pane: a new preview replaces the source
    if (destination && !panes.destination.scene && width && width < NARROW && model.get("plan").steps.length) activate("destination");
    if (!destination && store.now.selected.destination.size) store.select("destination", []);
    if (!destination && store.now.active === "destination") {
      activate("source");
      void acts.inspect(panes.source, true);
    }
    const other = panes[store.now.active === "source" ? "destination" : "source"].element;
    const lost = (!destination || (width && width < NARROW)) && hasFocus(other);
    tabs();
    room();
    place(() => {
      panes.source.update(source ?? null, titles.source ?? "", false, back?.source ?? (staged && !destination ? unstaged : undefined));
      panes.destination.update(destination ?? null, titles.destination ?? "", acts.follows, back?.destination);
    });
    apart = back?.apart ?? false;
    if (!back) lineUp();
    if (staged !== acts.staged) unstaged = acts.staged ? before : undefined;
    tabs();
    const stats = source?.stats;
    const hidden = Object.entries(stats?.hidden ?? {})
      .filter(([, n]) => n)
      .map(([what, n]) => `${counted(n, what)} hidden`);
    const figures = stats ? [count(stats.ops, "op"), ...hidden, stats.degraded].filter(Boolean).join(" \u00b7 ") : "";
    top.update(titles.source ?? "", figures, source?.direction ?? "TB");
    status.colors([source, destination]);
    hands.wires.again();
    highlight();
    search.again();
    if (lost) focusPane();
    clearTimeout(soon);
    if (model.get("inferred") === false) soon = window.setTimeout(() => api.tell("infer", {}), LEISURE);
  }

  /** Stores an unapplied plan, which remains after the kernel and the page until it is restored or replaced. */
  function remember(): void {
    const { graphs_id: of, process_id: by, code, draft_text: made, steps } = model.get("plan"),
      { left } = plan;
    if (left && (steps.length || made === left.draft_text)) plan.offer();
    if (!of || plan.left) return;
    keep(had);
    had = code || made ? of : "";
    if (had) keep(of, { graphs_id: of, process_id: by, code, draft_text: made ?? "" });
  }

  /** Moves the keyboard focus away from a button that was just disabled. */
  function planned(): void {
    const { size } = store.now.selected.source;
    plan.update(model.get("boundary"), model.get("plan"), model.get("views"), model.get("run"), model.get("look")?.name, size);
    if (root.querySelector(":disabled:focus")) focusPane();
  }

  /** Updates the values of the op in the inspector. */
  function ran(): void {
    planned();
    void acts.inspect(acts.pane, true);
  }

  const changed: Partial<Record<keyof State, () => void>> = {
    scenes: draw,
    titles: draw,
    look: () => {
      draw();
      planned();
      follows();
    },
    selected: () => {
      acts.adopt();
      planned();
    },
    boundary: () => {
      highlight();
      inspector.update(model.get("boundary"));
      remember();
      planned();
    },
    plan: () => {
      remember();
      ran();
    },
    run: ran,
    status: () => status.update(model.get("status")),
    outline: () => outline.update(model.get("outline").rows ?? [], acts.selected.source),
    views: () => {
      cameras.seen();
      top.places(model.get("views"));
      planned();
    },
    theme: () => theme.update(),
  };
  for (const [name, call] of Object.entries(changed)) model.on(`change:${name}`, call);

  const types = (target: EventTarget | null) => (target as HTMLElement).matches("input:not([type=radio]), textarea, select");

  // Ctrl+A must not select the text around the picture; this comes before a menu that handles its own keys
  root.addEventListener(
    "keydown",
    e => {
      if (!types(e.target) && (e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "a") e.preventDefault();
    },
    true,
  );

  root.addEventListener("keydown", e => {
    const target = e.target as HTMLElement,
      typing = types(target);
    const action = actionOf(e);
    if (e.defaultPrevented) e.stopPropagation(); // a handled event must not reach the notebook around the widget
    if (!action || (typing && action !== "escape" && action !== "apply")) return;
    // buttons and links keep their own Enter, Space and arrows
    const inDrawing = target === root || !!target.closest(".gs-canvas");
    if (
      !inDrawing &&
      ["open", "select", "toggle", "up", "down", "left", "right", "first", "last", "menu", "copy_to_clipboard", "cut", "paste"].includes(
        action,
      )
    )
      return;
    if (!hands.offers(action)) {
      if (!api.gone) return; // a saved page has no such key
      handled(e);
      return status.say(GONE_TEXT, "warn");
    }
    handled(e);
    if (e.key === " " && panes[store.now.active].pointer.hold()) return; // it selects when the key is released, unless it has panned
    if (typing && action === "escape") focusPane();
    else hands.do(action, e.key);
  });

  root.addEventListener("keyup", e => {
    if (e.key === " " && panes[store.now.active].pointer.release()) hands.do(e.ctrlKey || e.metaKey ? "toggle" : "select");
  });

  root.addEventListener("contextmenu", e => {
    if (e.defaultPrevented || (e.target as HTMLElement).matches("input, textarea")) return;
    handled(e); // otherwise, the notebook opens its own menu
    const { pane } = acts;
    if (pane.canvas.contains(e.target as Node)) hands.looks.menu(pane.name, { x: e.clientX, y: e.clientY });
  });

  const theme = followTheme(root, () => model.get("theme") ?? "auto");
  const size =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(seen => {
          place(() => {
            panes.source.resized();
            panes.destination.resized();
          });
          lineUp();
          if (!seen.some(e => e.target === root)) return;
          space.placed();
          width = root.clientWidth;
          root.classList.toggle("gs-w-narrow", width < NARROW);
          root.classList.toggle("gs-w-small", width < SMALL);
          room();
        });
  for (const element of [root, panes.source.canvas, panes.destination.canvas]) size?.observe(element);

  panes.source.map.seen(true);
  sides();
  const left = kept(model.get("plan").graphs_id ?? "");
  for (const name of ["outline", "boundary", "status", "views", "scenes"] as const) changed[name]!();
  acts.adopt(true);
  // a plan of another editor of this kernel is not offered
  if (left && left.process_id !== model.get("plan").process_id && !had && !model.get("still")) plan.offer(left);

  if (model.get("answers")) watch();

  return () => {
    clearTimeout(soon);
    controls.disconnect();
    for (const [name, call] of Object.entries(changed)) model.off(`change:${name}`, call);
    size?.disconnect();
    space.stop();
    theme.stop();
    search.stop();
    status.close();
    api.close();
    root.remove();
  };
}
