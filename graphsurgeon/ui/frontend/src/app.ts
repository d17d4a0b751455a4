// Builds the screen from its parts, and updates them from the model.
import { Api, NO_KERNEL_TEXT } from "./model/api";
import { drawChanges } from "./state/changes";
import { consume, focus, hasFocus } from "./panels/dom";
import { group } from "./panels/parts";
import { draw, h, make } from "./panels/vnodes";
import { actionOf, Registry } from "./commands/registry";
import { inspectorPanel } from "./panels/inspector";
import { LinkedPanes } from "./state/linked_panes";
import { viewMenu } from "./commands/appearance";
import { refreshCandidates } from "./canvas/drag_tensor";
import { drawBanner, lensNames } from "./canvas/lens";
import { outlinePanel } from "./panels/outline";
import { Pane } from "./canvas/pane";
import { planBar } from "./panels/planbar";
import { popupLayer } from "./panels/popup";
import { widgetSize } from "./panels/size";
import { isFold, opOf } from "./state/places";
import { searchBox } from "./panels/search";
import { statusBar } from "./panels/statusbar";
import type { ViewState } from "./state/store";
import { followTheme } from "./panels/theme";
import { topBar } from "./panels/topbar";
import type { Model } from "./model/api";
import type { Edge, State, Verbs } from "./model/types.generated";

const NARROW = 900,
  SMALL = 620,
  THREE = 1000,
  TWO = 1500;
/** The delay before shapes are inferred, in ms, so that the first actions are handled first. */
const LEISURE = 1000;

const VIEW_NAMES = { before: "Before", after: "After", both: "Both" };

/** Shows `model` in `host`; returns a function that removes it. */
export function mount(model: Model, host: HTMLElement): () => void {
  // ids are global to the page: two views must have different ids
  const id = "gs" + Math.random().toString(36).slice(2, 9);
  // a click on an element without key handlers moves the focus to the widget, not to the notebook around it
  const root = make("div.gs", { role: "group", "aria-label": "graphsurgeon", tabindex: -1 });
  host.append(root);
  root.classList.toggle("gs-still", !!model.get("still"));
  let sidesChosen = false,
    width = 0,
    soon = 0,
    /** the panes that were shown last */ lastShape = "";
  const actions = new Registry(model),
    { store, overlay, cameras } = actions,
    banner = make("div"),
    changes = make("div");

  const api = new Api(
    model,
    () => {
      const n = api.pending();
      root.toggleAttribute("data-waits", n > 0);
      status.pending(n);
    },
    () => {
      status.show(NO_KERNEL_TEXT, "warn");
      plan.stopKernel();
      watch();
      if (root.querySelector(":disabled:focus")) actions.focusPane();
    },
  );
  const panes = { source: new Pane("source", actions, overlay), destination: new Pane("destination", actions, overlay) },
    both = Object.values(panes),
    updateSizes = (anew = false) => both.forEach(pane => pane.updateSize(anew)),
    status = statusBar(actions),
    inspector = inspectorPanel(id, actions),
    plan = planBar(id, actions),
    search = searchBox(id, actions),
    popup = popupLayer(root, id, api),
    size = widgetSize(root, !!model.get("still"), () => top.draw()),
    linked = new LinkedPanes(actions, wide);
  const move = (pane: Pane) => {
    linked.moved(pane);
    if (pane === actions.pane) top.zoom();
  };
  Object.assign(actions, { api, panes, status, inspector, plan, search, popup, size, linked, move });
  const paneTabs = make("div"),
    outline = outlinePanel(actions),
    top = topBar(actions, panel => sides(panel, true), search.element);
  store.onChange = () => {
    highlight();
    redraw();
  };

  const dock = make("div.gs-dock"),
    right = make("div.gs-right", {}, inspector.element),
    foot = make("div.gs-foot", {}, plan.element, status.element, plan.buttons);
  const main = make(
    "div.gs-main",
    {},
    make("div.gs-left", {}, outline.element, dock),
    make(
      "div.gs-panes",
      {},
      make("div.gs-pane-bar", {}, paneTabs, changes),
      banner,
      make("div.gs-pane-row", {}, panes.source.element, panes.destination.element),
    ),
    right,
  );
  root.append(top.element, main, foot, size.grip, overlay.element, popup.layer);

  /** Controls are offered if the verbs that they send are answered: else a saved page lacks them, and without a kernel they
   * are gray. */
  function offer(): void {
    root.classList.toggle("gs-no-edits", !api.answers("connect"));
    for (const e of root.querySelectorAll<HTMLButtonElement>("[data-verb]")) {
      const on = api.answers(e.dataset.verb as keyof Verbs);
      if (!api.kernelStopped) e.toggleAttribute("data-unanswered", !on);
      else if (!e.disabled) e.disabled = true;
    }
  }
  const controls = new MutationObserver(offer);
  function watch(): void {
    controls.observe(root, { childList: true, subtree: true, attributeFilter: ["disabled", "data-verb"] });
    offer();
  }

  /** Updates selections, marks and the start of a connection, which change without a new scene. */
  function highlight(): void {
    const { active, selected, connecting, edge, faded, picking, change } = store.state,
      candidates = connecting?.candidates,
      start = connecting ?? picking?.from;
    drawBanner(banner, actions);
    for (const pane of both) {
      const here = candidates && (candidates.pane === pane.name || actions.isSingleGraph);
      pane.map.setActive(pane.name === active);
      pane.drawing.only(lensNames(actions, pane));
      pane.drawing.offer(here ? candidates.boxes : null);
      pane.drawing.dim(picking && (of => !!actions.refusal(pane) || (picking.ops ? isFold(of) : of.kind === "op" && !of.outputs)));
      pane.drawing.select(selected[pane.name]);
      pane.drawing.point(change?.pane === pane.name ? change.name : null);
      pane.drawing.mark(
        pane.name === "source" ? (store.state.suggestedBoundary ?? model.get("boundary")) : null,
        start?.pane === pane.name ? start.box : null,
      );
      pane.chooseEdge(edge);
      pane.offer(...actions.atSelection(pane));
      pane.drawing.fade(faded ?? pane.scene?.legend?.faded ?? []);
    }
    const { inputs, outputs } = model.get("boundary");
    panes.source.keepVisible = [...selected.source, ...[...inputs, ...outputs].map(t => opOf(t.tensor))];
    root.classList.toggle("gs-picking", !!picking);
  }

  function tabs(): void {
    const { active } = store.state,
      titles = { source: "Source", destination: "Destination" };
    root.classList.toggle("gs-two", !!model.get("scenes").destination);
    root.classList.toggle("gs-alone", store.state.alone);
    for (const pane of both) pane.alone(store.state.alone);
    root.dataset.pane = active;
    const staged = actions.isTwoStage,
      shape = `${!!model.get("scenes").destination} ${store.state.alone} ${active}`;
    root.classList.toggle("gs-staged", staged);
    if (shape !== lastShape) for (const pane of both) pane.forgetSize();
    lastShape = shape;
    drawChanges(changes, actions, linked);
    const tab = (text: string, on: boolean, onclick: () => void) => h("button.gs-tab", { "aria-pressed": on, onclick }, text);
    draw(
      paneTabs,
      group(
        "div.gs-pane-tabs",
        staged ? "Before and after the plan" : "Panes",
        staged
          ? linked.views.map(view => tab(VIEW_NAMES[view], view === linked.view, () => linked.choose(view)))
          : (["source", "destination"] as const).map(name =>
              tab(titles[name], active === name, () => {
                actions.activate(name);
                actions.focusPane();
              }),
            ),
      ),
    );
  }

  function wide(): boolean {
    return !width || width >= NARROW;
  }

  /** Opens or closes the side panels. After the user has done so, only much more or less width has an effect on them. */
  function sides(panel: Partial<ViewState["sides"]> = {}, byHand = false): void {
    sidesChosen ||= byHand;
    // a small cell has room for one of them next to the picture
    const one = byHand && width && width < SMALL && (panel.outline || panel.inspector),
      now = { ...store.state.sides, ...(one && { outline: false, inspector: false }), ...panel };
    store.set({ sides: now });
    for (const [name, on] of Object.entries(now)) root.classList.toggle(`gs-no-${name}`, !on);
    search.dock(now.inspector ? right : null);
    for (const pane of both) pane.map.dockIn(now.outline ? dock : pane.canvas);
    linked.moveByCode(() => updateSizes());
  }

  /** Panes have priority over side panels, unless the user has opened or closed these. */
  function fitSides(): void {
    if (sidesChosen || !width) return;
    const two = !!model.get("scenes").destination && width >= NARROW;
    const outline = width >= (two ? TWO : NARROW),
      inspector = width >= (two ? THREE : SMALL),
      now = store.state.sides;
    if (outline !== now.outline || inspector !== now.inspector) sides({ outline, inspector });
  }

  function drawScenes(): void {
    const { source, destination } = model.get("scenes"),
      titles = model.get("titles"),
      { isTwoStage } = actions,
      before = panes.source.camera,
      { edge } = store.state,
      holder = edge && both.find(pane => pane.scene?.edges.includes(edge)),
      endsOf = (one: Edge) => `${!!one.control} ${actions.ends(holder!, one).map(box => box.name)}`,
      ends = holder && endsOf(edge!),
      back = cameras.replace({ source, destination }, linked.cameras);
    // a narrow cell shows one pane: a new preview replaces the source
    if (destination && !panes.destination.scene && width && width < NARROW && model.get("plan").steps.length)
      actions.activate("destination");
    if (!destination && store.state.selected.destination.size) store.select("destination", []);
    if (!destination && store.state.active === "destination") {
      actions.activate("source");
      void actions.inspect(panes.source, true);
    }
    const made = new Set((panes.destination.scene?.boxes ?? []).filter(box => box.state === "new").map(box => box.name)),
      applied = isTwoStage && !destination ? (source?.boxes ?? []).map(box => box.name).filter(name => made.has(name)) : [];
    const loseFocus = (!destination || (width && width < NARROW)) && hasFocus(linked.other(actions.pane).element);
    tabs();
    fitSides();
    linked.moveByCode(() => {
      panes.source.update(
        source ?? null,
        titles.source,
        false,
        back?.source ?? (isTwoStage && !destination ? linked.cameraBefore : undefined),
      );
      panes.destination.update(destination ?? null, titles.destination, actions.follows, back?.destination);
    });
    // what an applied plan has added is in view
    if (applied.length && !back) panes.source.lookAt(applied);
    linked.apart = back?.apart ?? false;
    if (!back) linked.lineUp();
    if (isTwoStage !== actions.isTwoStage) linked.cameraBefore = actions.isTwoStage ? before : undefined;
    refreshCandidates(actions);
    // an edge stays selected in a new scene, for example in one with shapes
    const now = holder?.scene?.edges.find(one => endsOf(one) === ends) ?? null;
    if (edge) store.set({ edge: now });
    else highlight();
    if (now && hasFocus(holder!.svg)) focus(holder!.drawing.edge);
    search.refresh();
    if (loseFocus) actions.focusPane();
    clearTimeout(soon);
    if (model.get("inferred") === false) soon = window.setTimeout(() => api.tell("infer", {}), LEISURE);
  }

  /** Draws the panels from the model and the view state; only the parts that differ change. */
  function redraw(): void {
    tabs();
    for (const panel of [top, outline, inspector, status]) panel.draw();
    const had = hasFocus(foot);
    plan.draw();
    // a button that was just disabled or hidden cannot keep the keyboard focus
    if ((had && !hasFocus(foot)) || root.querySelector(":disabled:focus")) actions.focusPane();
  }

  /** Updates the values of the op in the inspector. */
  function inspectAgain(): void {
    void actions.inspect(actions.pane, true);
  }

  const updates: Partial<Record<keyof State, (() => void) | null>> = {
    scenes: drawScenes,
    titles: drawScenes,
    look: () => {
      drawScenes();
      linked.adopt();
    },
    selected: () => actions.adopt(),
    boundary: highlight,
    plan: inspectAgain,
    run: inspectAgain,
    views: () => cameras.settle(),
    theme: () => theme.update(),
    status: null,
    outline: null,
  };
  const listeners = Object.entries(updates).map(([name, update]) => {
    const listener = () => {
      update?.();
      redraw();
    };
    model.on(`change:${name}`, listener);
    return [`change:${name}`, listener] as const;
  });

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
    if (!actions.offers(action)) {
      if (!api.kernelStopped) return; // a saved page has no such key
      consume(e);
      return status.show(NO_KERNEL_TEXT, "warn");
    }
    consume(e);
    if (e.key === " " && actions.pane.pointer.pressSpace()) return; // it selects when the key is released, unless it has panned
    if (typing && action === "escape") actions.focusPane();
    else actions.do(action, e.key);
  });

  root.addEventListener("keyup", e => {
    if (e.key === " " && actions.pane.pointer.releaseSpace()) actions.do(e.ctrlKey || e.metaKey ? "toggle" : "select");
  });

  root.addEventListener("contextmenu", e => {
    if (e.defaultPrevented || (e.target as HTMLElement).matches("input, textarea")) return;
    consume(e); // otherwise, the notebook opens its own menu
    const { pane } = actions;
    if (pane.canvas.contains(e.target as Node)) viewMenu(actions, pane.name, e);
  });

  const theme = followTheme(root, () => model.get("theme") ?? "auto");
  const sizes =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(seen => {
          const old = width;
          if (seen.some(e => e.target === root)) {
            size.attach();
            width = root.clientWidth;
            const { className } = root;
            root.classList.toggle("gs-w-narrow", width < NARROW);
            root.classList.toggle("gs-w-small", width < SMALL);
            if (root.className !== className) sidesChosen = false;
            fitSides();
          }
          linked.moveByCode(() => updateSizes(width !== old));
          linked.lineUp();
        });
  for (const element of [root, panes.source.canvas, panes.destination.canvas]) sizes?.observe(element);

  sides();
  cameras.settle();
  drawScenes();
  redraw();
  actions.adopt(true);

  if (model.get("answers")) watch();

  return () => {
    clearTimeout(soon);
    controls.disconnect();
    for (const [event, listener] of listeners) model.off(event, listener);
    sizes?.disconnect();
    size.stop();
    theme.stop();
    search.stop();
    status.close();
    api.close();
    root.remove();
  };
}
