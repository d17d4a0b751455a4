// Edits of existing ops: the second menu of a box, the menu of an edge, and the forms of their items, of the inspector and of the plan.
import { CommandError } from "../model/api";
import { type Actions, TWO_END_EDITS } from "./actions";
import type { TwoEndEdit } from "../state/store";
import { dragType } from "../canvas/drag_boxes";
import type { Action } from "./keys";
import type { Pane } from "../canvas/pane";
import { edgeTitle } from "../canvas/shapes";
import { displayName, isFold, opOf } from "../state/places";
import { FORMS } from "../model/forms.generated";
import type { Choice, Entry, Values } from "../panels/popup";
import type { Position } from "../panels/parts";
import type { Attribute, Attributes, Box, Edge, Group, Verbs } from "../model/types.generated";

const DEVICES = ["/cpu:0", "/gpu:0", "/gpu:1"];

/** The boxes to search similar parts for: after a search still the first selection, not all results. */
function alike(actions: Actions, pane: Pane, of: Box | Group): string[] {
  const found = pane.name === "source" && actions.selected.source.has(of.name) ? actions.state.similarTo : null;
  return found ?? actions.boxesOf(pane, of);
}

/** Selects all parts similar to the selection, and shows how many of their ops other boxes hold. */
export async function findSimilar(actions: Actions, pane: Pane, of: Box | Group): Promise<void> {
  const names = alike(actions, pane, of),
    found = await actions.send("find_similar", { names });
  if (!found) return;
  actions.store.set({ similarTo: names });
  actions.panes.source.drawing.markHits(found.boxes);
}

/** Replaces all parts similar to the selection by an op of another type. */
export function replaceSimilar(actions: Actions, pane: Pane, of: Box | Group): void {
  const like = alike(actions, pane, of),
    one = like.length === 1 && !isFold(of);
  const find = (query: string) => actions.send("op_types", { query, names: like, inputs: 0 });
  // a single op has no inner tensors
  const more = { replacement: { find }, ...(one && { external: null }) },
    given = { names: like, external: "refuse" as const };
  actions.form(`Replace all similar to ${similarText(like)}`, "replace", "Replace", given, more);
}

/** Finds op types with one input, which can be dragged onto an edge. */
async function insertable(actions: Actions, query: string, values: () => Values): Promise<Entry[] | null> {
  const { popup } = actions,
    found = await actions.send("op_types", { query, names: [], inputs: 1 });
  const drag = (op: string) => () => {
    const { name } = values();
    popup.close();
    return dragType(actions, op, (pane, edge) =>
      actions.post("insert", { op, on: edge.tensor, name, only: [actions.ends(pane, edge)[1].name] }),
    );
  };
  return found && found.map(type => ({ ...type, drag: drag(type.name) }));
}

/** Asks for an op with one input to insert after a tensor, for all its consumers or for those in some boxes. */
export function askInsert(actions: Actions, tensor: string, only: string[] = []): void {
  const title = only.length ? `Insert op between ${tensor} and ${similarText(only)}` : `Insert op after ${tensor}`,
    op = { value: "Identity", find: (query: string, values: () => Values) => insertable(actions, query, values) };
  actions.form(title, "insert", "Insert", { on: tensor, only }, { op }, undefined, "You can also drag a type onto an edge.");
}

/** Asks for an attribute and its value in one text, for example padding=SAME; a list shows the choices. */
export async function askAttribute(actions: Actions, pane: Pane, of: Box | Group): Promise<void> {
  const names = actions.boxesOf(pane, of),
    about = await actions.send("attributes", { names, pane: pane.name });
  if (!about) return;
  const fields = [{ name: "text", label: "Attribute = value", hint: "padding=SAME", find: async (q: string) => entries(about, q) }];
  actions.popup.form("Set an attribute", fields, "Set", async v => {
    const at = v.text!.indexOf("=");
    const problem = `${JSON.stringify(v.text)} has no value`;
    if (at < 0) throw new CommandError({ request: "set_attr", problem, suggestion: "Type name=value, for example padding=SAME" });
    await actions.call("set_attr", { names, name: v.text!.slice(0, at).trim(), value: v.text!.slice(at + 1).trim() });
  });
}

/** Asks for another value of an attribute, of all ops of some boxes: from a menu if all its values are known. */
export function askValue(actions: Actions, names: string[], a: Attribute, at: Position): void {
  if (a.choices.length)
    actions.popup.choose(
      a.name,
      a.choices.map(value => actions.item(value, "set_attr", { names, name: a.name, value }, { on: value === a.value })),
      at,
    );
  else actions.form(`Set ${a.name}`, "set_attr", "Set", { names, name: a.name }, { value: a.value });
}

/** Asks for another device. */
export function askDevice(actions: Actions, names: string[], device: string): void {
  actions.form("Place on a device", "set_device", "Place", { names }, { device: { value: device, names: DEVICES } });
}

/** Asks for other arguments of a step of the plan. */
export async function askStep(actions: Actions, step: number): Promise<void> {
  const fields = await actions.send("step_form", { step });
  if (fields) actions.popup.form("Change the step", fields, "Change", values => actions.call("edit_step", { step, values }));
}

export function askName(actions: Actions, name: string): void {
  const [scope, end] = name.endsWith("/") ? ["scope", -1] : ["op"];
  actions.form(`Rename the ${scope}`, "rename", "Rename", { old: name }, { to: { value: name.slice(0, end), isName: true } });
}

/** The second menu of a box. */
export function editMenu(actions: Actions, pane: Pane, of: Box | Group, at: Position): void {
  const fold = isFold(of),
    names = actions.boxesOf(pane, of),
    { item, popup, model } = actions,
    selected = [...actions.selected[pane.name]],
    type = "subtitle" in of ? of.subtitle.split(" ")[0]! : "";
  const plan = model.get("plan"),
    one = names.length === 1,
    all = one ? "it" : `all ${names.length}`,
    theirs = (ends: string) => (one ? `its ${ends}` : `the ${ends} of ${all}`);
  const remove = one ? "Remove" : `Remove ${all}`,
    entry = (action: Action, text?: string) => actions.choice(action, pane, of, text ? { text } : {});
  const two = (verb: TwoEndEdit): Choice | false =>
    !fold && { text: TWO_END_EDITS[verb].menu, key: TWO_END_EDITS[verb].key, run: () => actions.startEdit(pane, verb) };
  /** A choice that opens the form of a verb; its text is `title`, unless one is given. */
  const formChoice = <V extends keyof typeof FORMS>(
    title: string,
    verb: V,
    submit: string,
    given: Partial<Verbs[V]>,
    more: Record<string, string> = {},
    text = title,
    off = false,
  ): Choice => ({
    text: `${text}\u2026`,
    off,
    run: () => actions.form(title, verb, submit, given, more),
  });
  const groups: Record<string, (Choice | false)[]> = {
    Consumers: [
      two("reroute"),
      two("swap"),
      !fold && item("Bypass", "bypass", { op: of.name }),
      !fold && { text: "Insert op after it\u2026", run: () => askInsert(actions, actions.tensorOf(of.name)) },
      !fold &&
        formChoice(
          `Insert a copy of ${similarText(selected)} after it`,
          "insert_copy",
          "Insert",
          { names: selected, on: actions.tensorOf(of.name), pane: "destination" },
          {},
          "Insert a copy of the selection",
          !selected.length || selected.includes(of.name),
        ),
      item(one ? "Replace its output by a placeholder" : `Replace ${theirs("outputs")} by placeholders`, "detach", {
        names,
        side: "outputs",
      }),
    ],
    [!one ? `All ${names.length} selected` : fold ? "This scope" : "This op"]: [
      entry("remove", remove),
      entry("stitch", `${remove} and reconnect`),
      item(`Replace ${theirs("inputs")} by placeholders`, "detach", { names, side: "inputs" }),
      one && entry("rename"),
      { text: "Place on a device\u2026", run: () => askDevice(actions, names, "/cpu:0") },
      entry("attribute"),
    ],
    Order: [
      two("add_control"),
      two("reroute_control"),
      !fold && item("Remove its control inputs", "remove_control", { op: of.name, after: null }),
    ],
    "Functions and patterns": [
      formChoice(`Collapse ${similarText(names)} into one call`, "collapse", "Collapse", { names }, {}, `Collapse ${all} into a function`),
      "kind" in of && of.kind === "call" && item("Inline the call", "inline", { names: [of.name] }),
      /While$|^(LoopCond|Enter|NextIteration|Exit)$/.test(type) &&
        formChoice("Unroll the loop", "unroll", "Unroll", { loop: of.name }, { times: "3" }),
      /(If|Case|^Switch)$/.test(type) &&
        formChoice(
          "Fix the condition",
          "resolve_condition",
          "Keep that branch",
          { name: of.name },
          { value: /Case$/.test(type) ? "0" : "True" },
          "Fix condition",
        ),
      entry("type"),
    ],
    "The plan so far": [
      formChoice("Make the edits so far on copies", "on_copies", "Make copies", {}, {}, "Make these edits on copies", !plan.steps.length),
    ],
  };
  popup.choose(
    of.label || of.name,
    Object.entries(groups).flatMap(([group, choices]) => choices.map(c => c && { ...c, group })),
    at,
  );
}

/** The choices for the tensor of an edge. If the edge has several tensors, a menu to choose one comes first. */
export async function edgeMenu(actions: Actions, pane: Pane, edge: Edge, at: Position): Promise<void> {
  const { popup } = actions;
  if (edge.control) return popup.choose(edgeTitle(edge), order(actions, pane, edge), at);
  if (edge.count === 1) return tensorMenu(actions, pane, edge, edge.tensor, at);
  const tensors = (await actions.edgeTensors(pane, edge))?.tensors;
  if (!tensors || actions.state.edge !== edge) return; // meanwhile, the user has gone elsewhere
  popup.choose(
    edgeTitle(edge),
    tensors.map(({ tensor, text }) => ({
      text: [tensor, text].filter(Boolean).join("  "),
      run: () => tensorMenu(actions, pane, edge, tensor, at),
    })),
    at,
  );
}

function tensorMenu(actions: Actions, pane: Pane, edge: Edge, tensor: string, at: Position): void {
  const { popup } = actions,
    [from, to] = actions.ends(pane, edge),
    only = [to.name],
    off = !!actions.refusal(pane),
    name = to.label.slice(0, 40);
  popup.choose(
    tensor,
    [
      { text: `Insert op before ${name}\u2026`, off, verb: "insert", run: () => askInsert(actions, tensor, only) },
      {
        text: `Reroute: feed ${name} from another tensor\u2026`,
        off,
        verb: "reroute",
        run: () => actions.startEdit(pane, "reroute", { tensor, box: from.name, only }),
      },
      actions.item("Cut: placeholders feed its consumers", "detach", { names: [opOf(tensor)], side: "outputs" }, { off }),
      actions.choice("input", pane, undefined, { run: () => actions.post("mark_input", { tensor }) }),
      actions.choice("output", pane, undefined, { run: () => actions.post("mark_output", { tensor }) }),
      ...ends(actions, pane, opOf(tensor), to.name),
    ],
    at,
  );
}

function order(actions: Actions, pane: Pane, edge: Edge): Choice[] {
  const [, to] = actions.ends(pane, edge),
    after = opOf(edge.tensor),
    off = !!actions.refusal(pane) || isFold(to) || edge.count > 1;
  return [
    actions.item(`Remove: ${to.label} no longer waits`, "remove_control", { op: to.name, after }, { off }),
    ...ends(actions, pane, after, to.name),
  ];
}

function ends(actions: Actions, pane: Pane, from: string, to: string): Choice[] {
  return [
    { text: "Go to its producer", verb: "reveal", run: () => actions.reveal(pane.name, from) },
    { text: "Go to its consumer", verb: "reveal", run: () => actions.reveal(pane.name, to) },
  ];
}

/** Names of boxes in a title. */
function similarText(names: string[]): string {
  return names.length > 1 ? `${names.length} boxes` : names.map(displayName).join("").slice(0, 60);
}

/** The possible entries name=value; the current value comes last, and any other text is allowed. */
function entries({ attributes }: Attributes, query: string): Entry[] {
  const q = query.toLowerCase().replace(/\s*=\s*/, "=");
  const all = attributes.flatMap(a =>
    a.choices.length
      ? a.choices.filter(c => c !== a.value).map(c => ({ name: `${a.name}=${c}`, doc: a.value ? `now ${a.value}` : "different values" }))
      : [{ name: `${a.name}=${a.value}`, doc: "current value" }],
  );
  const found = all.filter(e => e.name.toLowerCase().includes(q));
  const exact = found.filter(e => e.name.toLowerCase().endsWith(`=${q}`));
  return found.length ? [...exact, ...found.filter(e => !exact.includes(e))] : q.includes("=") ? [{ name: query, doc: "as typed" }] : [];
}
