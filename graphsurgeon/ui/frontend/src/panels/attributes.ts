// Editable properties of ops: their attributes and their device, in the inspector and by the keyboard.
import type { Actions } from "../commands/actions";
import { CommandError } from "../model/api";
import type { Pane } from "../canvas/pane";
import type { Entry } from "./popup";
import type { Position } from "./parts";
import type { Attribute, Attributes } from "../model/types.generated";

const DEVICES = ["/cpu:0", "/gpu:0", "/gpu:1"];

export class Attrs {
  constructor(private readonly actions: Actions) {}

  /** Asks for another value of an attribute, of all ops of some boxes: from a menu if all its values are known. */
  set(names: string[], a: Attribute, at: Position): void {
    const { actions } = this,
      set = (value: string) => actions.post("set_attr", { names, name: a.name, value });
    if (a.choices.length)
      actions.popup.choose(
        a.name,
        a.choices.map(value => ({ text: value, on: value === a.value, run: () => set(value) })),
        at,
      );
    else actions.form(`Set ${a.name}`, "set_attr", "Set", { names, name: a.name }, { value: { value: a.value } });
  }

  /** Asks for another device. */
  place(names: string[], device: string): void {
    this.actions.form("Place on a device", "set_device", "Place", { names }, { device: { value: device, names: DEVICES } });
  }

  /** Asks for other arguments of a step of the plan. */
  async step(step: number): Promise<void> {
    const fields = await this.actions.send("step_form", { step });
    if (fields) this.actions.popup.form("Change the step", fields, "Change", values => this.actions.call("edit_step", { step, values }));
  }

  rename(name: string): void {
    const [scope, end] = name.endsWith("/") ? ["scope", -1] : ["op"];
    this.actions.form(`Rename the ${scope}`, "rename", "Rename", { old: name }, { to: { value: name.slice(0, end), isName: true } });
  }

  /** Asks for an attribute and its value in one text, for example padding=SAME; a list shows the choices. */
  async choose(pane: Pane, names: string[]): Promise<void> {
    const about = await this.actions.send("attributes", { names, pane: pane.name });
    if (!about) return;
    const fields = [{ name: "text", label: "Attribute = value", hint: "padding=SAME", find: async (q: string) => entries(about, q) }];
    this.actions.popup.form("Set an attribute", fields, "Set", async v => {
      const at = v.text!.indexOf("=");
      const problem = `${JSON.stringify(v.text)} has no value`;
      if (at < 0) throw new CommandError({ request: "set_attr", problem, suggestion: "Type name=value, for example padding=SAME" });
      await this.actions.call("set_attr", { names, name: v.text!.slice(0, at).trim(), value: v.text!.slice(at + 1).trim() });
    });
  }
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
