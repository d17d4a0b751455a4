// Builds the screen from its parts, and updates them from the model.
import { Api, type Post, NO_KERNEL_TEXT } from "./model/api";
import { type Camera, CameraHistory } from "./state/cameras";
import { Changes } from "./state/changes";
import { consume, focus, hasFocus } from "./panels/dom";
import { draw, h, make } from "./panels/vnodes";
import { actionOf, Registry } from "./commands/registry";
import { Inspector } from "./panels/inspector";
import { align, follow } from "./state/linked_panes";
import { Outline } from "./panels/outline";
import { Overlay } from "./canvas/overlay";
import { Pane, type PaneEvents } from "./canvas/pane";
import { PlanBar } from "./panels/planbar";
import { Popup } from "./panels/popup";
import { WidgetSize } from "./panels/size";
import { isFold, opOf } from "./state/places";
import { Search } from "./panels/search";
import { StatusBar } from "./panels/statusbar";
import { Store, type ViewState } from "./state/store";
import { followTheme } from "./panels/theme";
import { TopBar } from "./panels/topbar";
import type { Transform } from "./canvas/view";
import type { Model } from "./model/api";
import type { Edge, PaneName, PlanView, State, Verbs } from "./model/types.generated";

const NARROW = 900,
  SMALL = 620,
  THREE = 1000,
  TWO = 1500;
/** The delay before shapes are inferred, in ms, so that the first commands are handled first. */
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
  const root = make("div.gs", { role: "group", "aria-label": "graphsurgeon", tabindex: -1 });
  host.append(root);
  root.classList.toggle("gs-still", !!model.get("still"));
  /** the last view of each pane, and whether code is moving it */
  const transforms = new Map<PaneName, Transform>();
  let placing = false,
    /** whether the new boxes are far from the old ones, so that before and after show different places */ apart = false,
    /** the camera of the picture before the plan, unless the user has moved it since */ cameraBeforePlan: Camera | undefined,
    sidesChosen = false,
    width = 0,
    soon = 0,
    /** the panes that were shown last */ lastShape = "",
    lastStage: PlanView = model.get("look")?.plan_view ?? "both";
  const store = new Store(),
    cameras = new CameraHistory(model),
    post: Post = (verb, args) => actions.post(verb, args);

  const status = new StatusBar(
    model,
    () => post("cancel", {}),
    keys => actions.fade(keys),
  );
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
      if (root.querySelector(":disabled:focus")) focusPane();
    },
  );
  const popup = new Popup(root, id, api);
  const events: PaneEvents = {
    select: (pane, names, mode) => actions.select(pane, names, mode),
    open: (pane, item) => actions.open(pane, item),
    edge: (pane, edge) => {
      actions.showEdge(pane, edge);
      focus(pane.drawing.edge);
    },
    insert: (pane, edge) => commands.edges.insert(pane, edge),
    inserts: pane => commands.inserts(pane),
    menu: (pane, of, x, y) => ("g" in of ? commands.boxMenu(pane, of.of, { x, y }) : void commands.edges.menu(pane, of, { x, y })),
    drag: (pane, e) => commands.drag(pane, e),
    move: pane => {
      const { x, y, k } = pane.view,
        was = transforms.get(pane.name);
      transforms.set(pane.name, { x, y, k });
      if (was && !placing) moveOther(pane, was);
      if (was && !placing) cameraBeforePlan = undefined;
      if (pane.name === store.state.active) top.zoom();
    },
    focus: (pane, onBox) => {
      activate(pane.name);
      if (onBox && store.state.edge) store.set({ edge: null });
    },
    alone: pane => {
      store.set({ alone: !store.state.alone });
      activate(pane.name);
      tellStage();
    },
  };
  const overlay = new Overlay(),
    panes = { source: new Pane("source", events, overlay), destination: new Pane("destination", events, overlay) },
    both = Object.values(panes),
    updateSizes = (anew = false) => both.forEach(pane => pane.updateSize(anew));
  const inspector = new Inspector(id, model, post, {
    reveal: name => actions.reveal(store.state.active, name),
    fetchValue: name => actions.send("value", { name }),
    fetchTensor: tensor => actions.send("fetch", { tensor }),
    showStatus: text => status.show(text),
    editable: () => api.answers("set_attr") && !actions.refusal(actions.pane),
    set: (names, a, at) => commands.edits.attrs.set(names, a, at),
    setDevice: (names, device) => commands.edits.attrs.place(names, device),
    replaceType: () => commands.do("type"),
    rename: name => commands.edits.attrs.rename(name),
  });
  const plan = new PlanBar(
    id,
    model,
    store,
    post,
    {
      copy: (how, byKey) => void actions.copy(how, byKey),
      pick: (ask, take) => actions.pick(ask, take),
      editStep: step => void commands.edits.attrs.step(step),
      history: async () => (await actions.send("history_code", {}))?.code ?? null,
      compare: () => void commands.runs.open("applied"),
      showStatus: text => status.show(text),
      reveal: (name, pane) => {
        const run = model.get("run");
        actions.reveal(pane ?? (run && "pane" in run ? run.pane : "source"), name);
      },
    },
    () => commands,
  );
  const search = new Search(
    id,
    query =>
      Promise.all(
        (["source", "destination"] as const)
          .filter(pane => pane === "source" || panes[pane].scene)
          .map(async pane => ({
            pane,
            title: model.get("titles")[pane] ?? pane,
            becomes: pane === "destination" && model.get("plan").same,
            result: await api.call("find", { query, pane }),
          })),
      ),
    ({ pane, name }, keyboard) => actions.reveal(pane, name, keyboard),
    () => focusPane(),
    (pane, boxes) => panes[pane].drawing.markHits(boxes),
  );
  const paneTabs = make("div");
  const widgetSize = new WidgetSize(root, !!model.get("still"), () => top.draw());
  const commands: Registry = new Registry({
      model,
      api,
      store,
      panes,
      inspector,
      plan,
      status,
      popup,
      overlay,
      search,
      size: widgetSize,
      cameras,
      stages: () => stage(),
      changes: by => steps.step(by, true),
    }),
    { actions } = commands,
    steps = new Changes(actions, lookAt),
    outline = new Outline(actions),
    top = new TopBar(commands, panel => sides(panel, true), search.element);
  store.listen(() => {
    highlight();
    redraw();
  });

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
      make("div.gs-pane-bar", {}, paneTabs, steps.element),
      commands.lens.element,
      make("div.gs-pane-row", {}, panes.source.element, panes.destination.element),
    ),
    right,
  );
  root.append(top.element, main, foot, widgetSize.grip, overlay.element, popup.layer);

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

  function activate(name: PaneName): void {
    if (store.state.active !== name) store.set({ active: name });
  }

  function focusPane(): void {
    const { pane } = actions,
      item = pane.current;
    if (item) pane.focus(item, false);
  }

  /** Updates selections, marks and the start of a connection, which change without a new scene. */
  function highlight(): void {
    const { active, selected, pendingEdit, edge, faded, candidates, picking, change } = store.state;
    commands.lens.update();
    for (const pane of both) {
      const here = candidates && (candidates.pane === pane.name || model.get("plan").same);
      pane.map.setActive(pane.name === active);
      pane.drawing.only(commands.lens.names(pane));
      pane.drawing.offer(here ? candidates.boxes : null);
      pane.drawing.dim(picking && (of => !!actions.refusal(pane) || (picking.ops ? isFold(of) : of.kind === "op" && !of.outputs)));
      pane.drawing.select(selected[pane.name]);
      pane.drawing.point(change?.pane === pane.name ? change.name : null);
      pane.drawing.mark(
        pane.name === "source" ? (store.state.suggestedBoundary ?? model.get("boundary")) : null,
        pendingEdit?.pane === pane.name ? pendingEdit.box : null,
      );
      pane.chooseEdge(edge);
      pane.offer(...commands.atSelection(pane));
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
      shape = `${!!model.get("scenes").destination} ${store.state.alone} ${active}`,
      now = shownStage();
    root.classList.toggle("gs-staged", staged);
    if (shape !== lastShape) for (const pane of both) pane.forgetSize();
    lastShape = shape;
    steps.update();
    const tab = (text: string, on: boolean, onclick: () => void) => h("button.gs-tab", { "aria-pressed": on, onclick }, text);
    draw(
      paneTabs,
      h(
        "div.gs-pane-tabs",
        { role: "group", "aria-label": staged ? "Before and after the plan" : "Panes" },
        staged
          ? stages().map(one => tab(STAGE_NAMES[one], one === now, () => stage(one)))
          : (["source", "destination"] as const).map(name =>
              tab(titles[name], active === name, () => {
                activate(name);
                focusPane();
              }),
            ),
      ),
    );
  }

  function wide(): boolean {
    return !width || width >= NARROW;
  }

  /** Chooses the panes and panels that fit into the width. */
  function stages(): PlanView[] {
    return wide() ? ["before", "after", "both"] : ["before", "after"];
  }

  function shownStage(): PlanView {
    if (wide() && !store.state.alone) return "both";
    return store.state.active === "source" ? "before" : "after";
  }

  /** Makes a pane the active one; if it is hidden, it replaces the other pane. */
  function lookAt(name: PaneName): void {
    const seen = wide() && !store.state.alone;
    if (seen || store.state.active === name) return activate(name);
    if (actions.isTwoStage) stage(name === "source" ? "before" : "after");
    else activate(name);
  }

  /** Shows the graph before the plan, after it, or both; without a stage, the next of these. Visible boxes keep their places. */
  function stage(to?: PlanView): void {
    if (!actions.isTwoStage) return status.show("There is no plan: before and after are the same.", "warn");
    const known = stages();
    show(to ?? known[(known.indexOf(shownStage()) + 1) % known.length]!);
    status.show(`${STAGE_NAMES[shownStage()]}: ${STAGE_WORDS[shownStage()]}`);
    tellStage();
  }

  /** Sends a chosen stage to the kernel and to other views of this widget. */
  function tellStage(): void {
    if (!actions.isTwoStage || !api.answers("set_plan_view")) return;
    lastStage = shownStage();
    post("set_plan_view", { show: lastStage });
  }

  /** Shows a stage that was chosen by code or in another view. */
  function follows(): void {
    const now = model.get("look")?.plan_view;
    if (!now || now === lastStage || api.pending("set_plan_view")) return;
    lastStage = now;
    if (actions.isTwoStage && wide() && now !== shownStage()) show(now);
  }

  function show(next: PlanView): void {
    const from = actions.pane,
      { size } = from,
      had = hasFocus(from.element);
    store.set({ alone: next !== "both", active: next === "both" ? from.name : next === "before" ? "source" : "destination" });
    const now = actions.pane;
    moveByCode(() => {
      updateSizes();
      align(now === from ? other(now) : now, from, size);
    });
    if (had) focusPane(); // the pane with the focus may be hidden now
  }

  function other(pane: Pane): Pane {
    return panes[pane.name === "source" ? "destination" : "source"];
  }

  /** Makes the panes before and after show the same place: that of the active pane, then the new boxes. */
  function lineUp(): void {
    if (!actions.isTwoStage) return;
    const now = actions.pane;
    moveByCode(() => {
      if (!apart) align(other(now), now, now.size);
      if (!panes.destination.bring()) return;
      align(panes.source, panes.destination, panes.destination.size);
      apart = panes.source.fill();
    });
  }

  /** Moves panes by code; meanwhile, they do not follow each other. */
  function moveByCode(act: () => void): void {
    const outer = placing;
    placing = true;
    act();
    placing = outer;
  }

  /** Moves the other of two pictures of one graph like this one. */
  function moveOther(pane: Pane, was: Transform): void {
    if (pane.name !== store.state.active || !actions.isTwoStage || !other(pane).size[0]) return;
    panes.destination.dropNewBoxes();
    const act = () => moveByCode(() => follow(other(pane), was, pane.view));
    if (pane.isGliding) other(pane).glide(act);
    else act();
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
    moveByCode(() => updateSizes());
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
      back = cameras.replace({ source, destination }, { source: before, destination: panes.destination.camera, apart });
    // a narrow cell shows one pane: a new preview replaces the source
    if (destination && !panes.destination.scene && width && width < NARROW && model.get("plan").steps.length) activate("destination");
    if (!destination && store.state.selected.destination.size) store.select("destination", []);
    if (!destination && store.state.active === "destination") {
      activate("source");
      void actions.inspect(panes.source, true);
    }
    const made = new Set((panes.destination.scene?.boxes ?? []).filter(box => box.state === "new").map(box => box.name)),
      applied = isTwoStage && !destination ? (source?.boxes ?? []).map(box => box.name).filter(name => made.has(name)) : [];
    const loseFocus = (!destination || (width && width < NARROW)) && hasFocus(other(actions.pane).element);
    tabs();
    fitSides();
    moveByCode(() => {
      panes.source.update(
        source ?? null,
        titles.source,
        false,
        back?.source ?? (isTwoStage && !destination ? cameraBeforePlan : undefined),
      );
      panes.destination.update(destination ?? null, titles.destination, actions.follows, back?.destination);
    });
    // what an applied plan has added is in view
    if (applied.length && !back) panes.source.lookAt(applied);
    apart = back?.apart ?? false;
    if (!back) lineUp();
    if (isTwoStage !== actions.isTwoStage) cameraBeforePlan = actions.isTwoStage ? before : undefined;
    commands.tensorDrag.refresh();
    // an edge stays selected in a new scene, for example in one with shapes
    const now = holder?.scene?.edges.find(one => endsOf(one) === ends) ?? null;
    if (edge) store.set({ edge: now });
    else highlight();
    if (now && hasFocus(holder!.svg)) focus(holder!.drawing.edge);
    search.refresh();
    if (loseFocus) focusPane();
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
    if ((had && !hasFocus(foot)) || root.querySelector(":disabled:focus")) focusPane();
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
      follows();
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
    if (!commands.offers(action)) {
      if (!api.kernelStopped) return; // a saved page has no such key
      consume(e);
      return status.show(NO_KERNEL_TEXT, "warn");
    }
    consume(e);
    if (e.key === " " && actions.pane.pointer.pressSpace()) return; // it selects when the key is released, unless it has panned
    if (typing && action === "escape") focusPane();
    else commands.do(action, e.key);
  });

  root.addEventListener("keyup", e => {
    if (e.key === " " && actions.pane.pointer.releaseSpace()) commands.do(e.ctrlKey || e.metaKey ? "toggle" : "select");
  });

  root.addEventListener("contextmenu", e => {
    if (e.defaultPrevented || (e.target as HTMLElement).matches("input, textarea")) return;
    consume(e); // otherwise, the notebook opens its own menu
    const { pane } = actions;
    if (pane.canvas.contains(e.target as Node)) commands.appearance.menu(pane.name, { x: e.clientX, y: e.clientY });
  });

  const theme = followTheme(root, () => model.get("theme") ?? "auto");
  const size =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(seen => {
          const old = width;
          if (seen.some(e => e.target === root)) {
            widgetSize.attach();
            width = root.clientWidth;
            const { className } = root;
            root.classList.toggle("gs-w-narrow", width < NARROW);
            root.classList.toggle("gs-w-small", width < SMALL);
            if (root.className !== className) sidesChosen = false;
            fitSides();
          }
          moveByCode(() => updateSizes(width !== old));
          lineUp();
        });
  for (const element of [root, panes.source.canvas, panes.destination.canvas]) size?.observe(element);

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
    size?.disconnect();
    widgetSize.stop();
    theme.stop();
    search.stop();
    status.close();
    api.close();
    root.remove();
  };
}
