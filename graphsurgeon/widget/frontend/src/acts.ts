// What each gesture and key does: mostly, which verb it sends.
import type { Api } from "./api";
import { Refused } from "./api";
import { Going } from "./going";
import { Edits, SECOND, type TwoPicks } from "./edits";
import type { Inspector } from "./inspector";
import type { Action } from "./table";
import type { Pane } from "./pane";
import { isFold, neighbour, type Step } from "./places";
import type { PlanBar } from "./planbar";
import type { Popup } from "./popup";
import type { Search } from "./search";
import { edgeTitle } from "./shapes";
import type { StatusBar } from "./statusbar";
import { Seen } from "./seen";
import type { Mode, PaneName, Results, Unmapped, Verbs } from "./table";
import type { Box, Edge, Group, Model } from "./types";

export interface Parts {
  model: Model; api: Api; panes: Record<PaneName, Pane>; inspector: Inspector; plan: PlanBar; status: StatusBar; popup: Popup; search: Search;
  active(): Pane;
  redraw(): void;
}

export class Acts {
  /** What is highlighted, by pane; the source's is Python's `picked`, ahead of it by the answers that are on their way. */
  readonly picked: Record<PaneName, Set<string>> = { source: new Set(), destination: new Set() };
  /** What the first of two picks has taken: the tensor a connection starts from, or what an edit begins with. */
  armed: { verb: TwoPicks; tensor: string; pane: PaneName; box: string } | null = null;
  private readonly edits: Edits;
  readonly going: Going;
  readonly seen: Seen;
  /** What the legend lets fade, ahead of Python's answer; null when Python's is right. */
  faded: string[] | null = null;
  private asked = 0;
  private edge: Edge | null = null;

  constructor(private p: Parts) {
    this.edits = new Edits(this, p.model, p.popup, boxes => p.panes.source.drawing.found(boxes));
    this.going = new Going(this, p.model, p.popup, text => p.status.say(text));
    this.seen = new Seen(this, p.model, p.popup);
  }

  /** Lets boxes fade at once; Python hears of it. */
  fade(keys: string[]): void {
    this.faded = keys;
    this.p.redraw();
    void this.send("fade", { keys }).then(() => { this.faded = null; this.p.redraw(); });
  }

  /** Sends a verb; what Python refuses is said in the status line. */
  async send<V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<(V extends keyof Results ? Results[V] : unknown) | null> {
    try {
      return (await this.p.api.call(verb, args)) as V extends keyof Results ? Results[V] : unknown;
    } catch (error) {
      if (error instanceof Refused) this.p.status.say(error.message, "error");
      else throw error;
      return null;
    }
  }

  /** Takes Python's picks, unless picks of ours are on their way. */
  adopt(first = false): void {
    if (this.p.api.pending("pick")) return;
    const old = this.picked.source, now = new Set(this.p.model.get("picked"));
    this.picked.source = now;
    this.p.redraw();
    if (first || (old.size === now.size && [...now].every(n => old.has(n)))) return;
    void this.inspect(this.p.panes.source);
    // what Python picks is shown; its scene may come with the same message
    if (now.size) queueMicrotask(() => this.p.panes.source.lookAt([...now]));
  }

  pick(pane: Pane, names: string[], mode: Mode): void {
    const old = this.picked[pane.name], next = new Set(mode === "set" ? [] : old);
    for (const name of names) {
      if (mode === "toggle" && next.has(name)) next.delete(name);
      else next.add(name);
    }
    const same = next.size === old.size && [...next].every(n => old.has(n));
    this.picked[pane.name] = next;
    this.edge = null;
    this.edits.forget();
    this.p.redraw();
    if (!same && pane.name === "source") void this.send("pick", { names, mode }).then(() => this.adopt());
    void this.inspect(pane);
  }

  /** Shows in the inspector what is picked. */
  async inspect(pane: Pane): Promise<void> {
    const names = [...this.picked[pane.name]], name = names[0];
    const asked = ++this.asked;
    if (name === undefined) return this.p.inspector.nothing();
    if (names.length > 1) return this.p.inspector.several(names);
    this.p.inspector.waiting(name);
    const details = await this.send("details", { pane: pane.name, name });
    if (details && asked === this.asked) this.p.inspector.show(name, details, !name.endsWith("/") && !name.startsWith("~"));
  }

  showEdge(pane: Pane, edge: Edge): void {
    this.picked[pane.name] = new Set(pane.name === "source" ? this.picked.source : []);
    this.asked++;
    this.edge = edge;
    this.p.redraw();
    const [from, to] = [edge.from, edge.to].map(id => pane.scene!.boxes.find(box => box.id === id)!.label);
    this.p.inspector.edge(edgeTitle(edge), `${from} \u2192 ${to}`, edge.tensors.map((tensor, i) => ({ tensor, text: edge.texts?.[i] ?? "" })), edge.n - edge.tensors.length);
  }

  get chosenEdge(): Edge | null { return this.edge; }

  open(pane: Pane, item: Box | Group): void {
    if (!isFold(item)) return;
    pane.keep(item.name);
    void this.send("kind" in item ? "unfold" : "fold", { pane: pane.name, name: item.name });
  }

  /** Goes to a box, wherever it is folded away; `focus` false leaves the keyboard where it is. */
  reveal(pane: PaneName, name: string, focus = true): void {
    // the scene may come long after the answer: a layout takes its time
    this.p.panes[pane].goTo(name, focus);
    void this.send("reveal", { pane, name }).then(() => this.p.panes[pane].arrive());
  }

  /** The tensor that a key on the current box means; says why when there is none. */
  tensor(pane: Pane): string | null {
    if (this.edge) return this.edge.tensors[0] ?? null;
    const of = pane.current?.of;
    if (!of) this.p.status.say("Pick an op first.", "warn");
    else if (isFold(of)) this.p.status.say(`'${of.name.slice(0, 80)}' is a scope: unfold it (Enter) and pick an op, or press Shift+B for the boundary of what is picked.`, "warn");
    else if ("outputs" in of && of.kind === "op" && of.outputs === 0) this.p.status.say(`'${of.name.slice(0, 80)}' has no output tensor.`, "warn");
    else return this.p.inspector.tensorOf(of.name);
    return null;
  }

  mark(tensor: string, as: "input" | "output"): void {
    void this.send(as === "input" ? "mark_input" : "mark_output", { tensor });
  }

  async copy(to: string | null, unmapped: Unmapped): Promise<void> {
    if ((await this.send("copy", { to, unmapped })) !== null) this.p.plan.show(this.p.model.get("plan").faults.length ? "problems" : "steps");
  }

  /** The output of an op that keys mean: the one chosen in the inspector, or the first. */
  tensorOf(op: string): string { return this.p.inspector.tensorOf(op); }

  /** What a pick of two means: an op where it is about order, else a tensor. */
  private end(pane: Pane, verb: TwoPicks): string | null {
    const of = pane.current?.of;
    return verb !== "connect" && SECOND[verb].order && of && !isFold(of) ? of.name : this.tensor(pane);
  }

  /** Takes the first of two picks. */
  arm(pane: Pane, verb: TwoPicks): void {
    const tensor = this.end(pane, verb), box = pane.current?.of.name;
    if (!tensor || box === undefined) return;
    const no = verb === "connect" ? "" : this.edits.refusal(pane);
    if (no) return this.p.status.say(no, "warn");
    this.armed = { verb, tensor, pane: pane.name, box };
    const ask = verb === "connect" ? "go to the op that shall read it and press m again" : SECOND[verb].ask;
    this.p.status.say(`${verb === "connect" ? "Connect " : ""}${tensor.slice(0, 80)}: ${ask}; Esc gives up.`);
    this.p.redraw();
  }

  /** Takes the second pick of an edit. */
  private second(pane: Pane): void {
    const { armed } = this, no = this.edits.refusal(pane);
    if (!armed || armed.verb === "connect") return;
    const tensor = no ? null : this.end(pane, armed.verb);
    if (!tensor) return no ? this.p.status.say(no, "warn") : undefined;
    this.armed = null;
    this.p.redraw();
    if (armed.verb === "reroute") void this.send("reroute", { old: armed.tensor, to: tensor });
    else if (armed.verb === "swap") void this.send("swap", { a: armed.tensor, b: tensor });
    else if (armed.verb === "add_control") void this.send("add_control", { op: armed.tensor, after: tensor });
    else void this.send("reroute_control", { old: armed.tensor, to: tensor });
  }

  /** First m takes the tensor, second m the op that shall read it. */
  async connect(pane: Pane): Promise<void> {
    if (!this.armed) return this.arm(pane, "connect");
    const of = pane.current?.of;
    if (!of || isFold(of)) return this.p.status.say("The second m needs an op: unfold the scope (Enter) and pick the op that shall read the tensor.", "warn");
    const details = await this.send("details", { pane: pane.name, name: of.name });
    if (!details || !this.armed) return;
    const { tensor } = this.armed;
    const join = (input: number) => {
      this.armed = null;
      this.p.redraw();
      void this.send("connect", { tensor, to: of.name, input });
    };
    if (!details.inputs.length) this.p.status.say(`'${of.name.slice(0, 80)}' has no inputs: pick another op.`, "warn");
    else if (details.inputs.length === 1) join(0);
    else this.p.popup.choose("Which input shall read it?", details.inputs.map((t, i) => ({ text: `${i}: ${t.tensor}  ${t.text}`, run: () => join(i) })));
  }

  apply(): void {
    const plan = this.p.model.get("plan");
    if (!plan.ready) {
      this.p.status.say(plan.faults.length ? "The plan has faults: see below." : "There is no plan to apply.", "warn");
      if (plan.faults.length) this.p.plan.show("problems");
      return;
    }
    const go = () => void this.send("apply", {});
    if (!plan.warnings.length) return go();
    this.p.popup.confirm(`Apply with ${plan.warnings.length === 1 ? "a warning" : `${plan.warnings.length} warnings`}?`, plan.warnings, "Apply", go);
  }

  /** Does the action of a key; false when it has nothing to do here. */
  do(action: Action, key = ""): boolean {
    const { p } = this, pane = p.active(), item = pane.current, scene = pane.scene;
    if (this.armed && this.armed.verb !== "connect" && ["open", "reroute", "connect"].includes(action) && item && !(action === "open" && isFold(item.of))) {
      this.second(pane);
      return true;
    }
    switch (action) {
      case "up": case "down": case "left": case "right": {
        const next = scene && item && neighbour(scene, item.of, action as Step);
        const found = next && pane.drawing.named(next.name);
        if (found) pane.focus(found);
        break;
      }
      case "first": case "last": {
        const list = [...pane.drawing.root.querySelectorAll<SVGGElement>(".gs-layer-boxes > .gs-item")];
        const found = pane.drawing.at(list[action === "first" ? 0 : list.length - 1] ?? null);
        if (found && "g" in found) pane.focus(found);
        break;
      }
      case "pick": if (item) this.pick(pane, [item.of.name], "set"); break;
      case "toggle": if (item) this.pick(pane, [item.of.name], "toggle"); break;
      case "open": if (item) { if (isFold(item.of)) this.open(pane, item.of); else this.pick(pane, [item.of.name], "set"); } break;
      case "input": case "output": { const tensor = this.tensor(pane); if (tensor) this.mark(tensor, action); break; }
      case "boundary": p.plan.focusSummary(); break;
      case "around": void this.send("boundary_of_picked", {}); break;
      case "copy": p.plan.copy(); break;
      case "connect": void this.connect(pane); break;
      case "reroute": this.arm(pane, "reroute"); break;
      case "remove": case "stitch":
        if (item) { const no = this.edits.refusal(pane); if (no) p.status.say(no, "warn"); else this.edits.remove(pane, item.of, action === "stitch"); }
        break;
      case "edit": if (item) { const r = item.g.getBoundingClientRect(); this.edit(pane, item.of, r.left + 12, r.bottom); } break;
      case "undo": void this.send("undo", {}); break;
      case "redo": void this.send("redo", {}); break;
      case "apply": this.apply(); break;
      case "search": p.search.focus(); break;
      case "seen": this.seen.menu(pane.name); break;
      case "train": this.seen.train(); break;
      case "fit": pane.fit(); break;
      case "in": pane.zoom(1.25); break;
      case "out": pane.zoom(1 / 1.25); break;
      case "actual": pane.zoom(1 / pane.view.k); break;
      case "menu": if (item) { const r = item.g.getBoundingClientRect(); this.menu(pane, item.of, r.left + 12, r.bottom); } break;
      case "producer": case "consumer": void this.going.along(pane, action); break;
      case "back": case "forward": this.going.step(p.panes.source, action); break;
      case "views": this.going.menu(p.panes.source); break;
      case "view": this.going.numbered(p.panes.source, +key); break;
      case "map": pane.map.wanted = !pane.map.wanted; pane.map.look(); break;
      case "escape": this.escape(pane); break;
      case "help": p.popup.help(); break;
    }
    return true;
  }

  /** Esc takes back the nearest thing: a connection begun, a layout that runs, then the picks. */
  private escape(pane: Pane): void {
    if (this.armed) {
      this.armed = null;
      this.p.status.say("Given up: nothing has changed.");
      this.p.redraw();
    } else if (this.p.model.get("status").level === "busy" || this.p.api.pending()) void this.send("cancel", {});
    else this.pick(pane, [], "set");
  }

  /** The menu of edits. */
  edit(pane: Pane, of: Box | Group, x: number, y: number): void {
    const no = this.edits.refusal(pane);
    if (no) return this.p.status.say(no, "warn");
    this.edits.menu(pane, of, { x, y });
  }

  menu(pane: Pane, of: Box | Group, x: number, y: number): void {
    const fold = isFold(of), act = (action: Action) => () => void this.do(action);
    const choices = [
      fold && { text: "kind" in of ? "Unfold" : "Fold", key: "Enter", run: () => this.open(pane, of) },
      { text: "Pick", key: "Space", run: act("pick") },
      !fold && { text: "Mark as boundary input", key: "i", run: act("input") },
      !fold && { text: "Mark as boundary output", key: "o", run: act("output") },
      pane.name === "source" && { text: "Boundary of what is picked", key: "Shift+B", run: () => { if (!this.picked.source.size) this.pick(pane, [of.name], "set"); this.do("around"); } },
      { text: "Copy the region", key: "c", run: act("copy"), off: !this.p.model.get("boundary").ops },
      !fold && (this.armed && this.armed.verb !== "connect" ? { text: "Take this op", key: "Enter", run: act("open") }
        : { text: this.armed ? "Connect to this op" : "Connect from here", key: "m", run: act("connect") }),
      pane.name === "source" && { text: "Find all like this", run: () => void this.edits.like(pane, of) },
      ...this.seen.of(of),
      { text: "Edit \u2026", key: "e", run: () => this.edit(pane, of, x, y), off: !!this.edits.refusal(pane) },
    ];
    this.p.popup.choose(of.label || of.name, choices.filter(c => !!c), { x, y });
  }
}

