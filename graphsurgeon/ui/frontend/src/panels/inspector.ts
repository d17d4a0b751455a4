// The inspector on the right: the selection, its tensors, and their mark buttons.
import { count, figure, focus } from "./dom";
import { askDevice, askName, askValue } from "../commands/edits";
import type { Registry } from "../commands/registry";
import { belowButton, button, copyButton, image, link, muted, sends, small } from "./parts";
import { type Child, make, draw, h, type VNode } from "./vnodes";
import { displayName, opOf, sharedScope } from "../state/places";
import type { Attributes, Details, EdgeTensors, Histogram, Numbers, TensorText, TensorValues } from "../model/types.generated";
import { SIGN } from "../model/drawing.generated";

const MOST = 60;

export class Inspector {
  readonly element = make("aside");
  #chosenOutputs = new Map<string, string>();
  #scope = "";
  #current = "";
  #body: () => Child = () => null;
  /** The values that were fetched on request: of a tensor in the run, or of the shown op. */
  #fetched = new Map<string, TensorValues>();
  #value: Numbers | null = null;
  /** Whether the shown tensors can be marked. */
  marks = true;

  constructor(
    private readonly id: string,
    private readonly commands: Registry,
  ) {
    this.nothing();
  }

  /** Whether the shown ops can be changed. */
  get #isEditable(): boolean {
    return this.commands.api.answers("set_attr") && !this.commands.refusal(this.commands.pane);
  }

  #reveal = (name: string): void => this.commands.reveal(this.commands.state.active, name);

  /** The tensor that i and o mark for an op: the one chosen here, or its first output. */
  tensorOf(op: string): string {
    return this.#chosenOutputs.get(op) ?? `${op}:0`;
  }

  /** Nothing is selected: shows the model in one line. */
  nothing(): void {
    this.#set("", () => {
      const { model } = this.commands.model.get("titles");
      return [model && h("p", model), muted("Select an op to see its type, its attributes and its tensors.")];
    });
  }

  waiting(name: string): void {
    if (this.#current === name) return; // it is shown already, and an update follows
    this.#set("\u2026", () => [this.#heading(name, ""), muted("\u2026")]);
  }

  several(names: string[], about: Attributes | null = null): void {
    this.#scope = sharedScope(names.map(displayName));
    this.#set(names.join(), () => [
      h("h3.gs-inspect-title", `${names.length} selected`),
      h(
        "div.gs-row",
        button({
          text: "Boundary of the selection",
          verb: "mark_boundary",
          title: "Shift+B",
          onclick: () => this.commands.post("mark_boundary", {}),
        }),
      ),
      about && this.#facts(names, [["types", about.types.map(([t, n]) => `${figure(n)} ${t}`).join(", ")]], about),
      this.#list("", names, n => this.#link(n)),
    ]);
  }

  edge(title: string, way: string, { tensors, values }: EdgeTensors, more: number): void {
    this.#scope = sharedScope(tensors.map(t => opOf(t.tensor)));
    this.#set("\u2192", () => [
      h("h3.gs-inspect-title", { title }, h("span.gs-leaf", title)),
      h("p.gs-doc.gs-way", way),
      this.#list("", tensors, t => this.#tensor(t)),
      more > 0 && muted(`and ${more} more`),
      values.map(one => this.#runValues(one, one.tensor)),
    ]);
  }

  show(name: string, d: Details, isOp: boolean): void {
    this.#scope = isOp ? name.slice(0, name.lastIndexOf("/") + 1) : name;
    this.#set(name, () => [
      this.#heading(name, d.title),
      d.doc && h("p.gs-doc", d.doc),
      this.#facts([name], d.rows, d),
      histogram(d.histogram),
      d.value && this.#valueOf(name),
      (d.run ?? []).map(one => this.#runValues(one)),
      this.#list("Outputs", d.outputs, t => this.#tensor(t, isOp ? name : "", d.outputs.length > 1), d.totals.outputs),
      this.#list("Inputs", d.inputs, t => this.#tensor(t), d.totals.inputs),
      this.#list("Control inputs", d.control_inputs, n => this.#link(n), d.totals.control_inputs),
      this.#list("Consumers", d.consumers, n => this.#link(n), d.totals.consumers),
      !!d.python &&
        h(
          "div.gs-row",
          copyButton(d.python, `Copied: ${d.python.slice(0, 80)}`, this.commands.notify, {
            text: "Copy Python",
            kind: "small",
            title: d.python,
          }),
        ),
    ]);
  }

  /** Shows a body for the selection `current`. */
  #set(current: string, body: () => Child): void {
    this.#current = current;
    this.#body = body;
    this.#fetched.clear();
    this.#value = null;
    this.draw();
  }

  draw(): void {
    draw(
      this.element,
      h(
        "aside.gs-inspector",
        { "aria-label": "Inspector", class: !this.#current && "gs-idle" },
        h("div.gs-inspect-body", { key: this.#current }, this.#body()),
      ),
    );
  }

  /** The values of a tensor in the run; all elements of a large one are fetched on request. */
  #runValues(given: TensorValues, title = `:${/\d+$/.exec(given.tensor)?.[0] ?? 0}`): VNode {
    const of = this.#fetched.get(given.tensor) ?? given;
    const fetch = async () => {
      const found = await this.commands.send("fetch", { tensor: of.tensor });
      if (!found) return;
      this.#fetched.set(of.tensor, { ...found, more: false });
      this.draw();
    };
    return h(
      "section.gs-inspect-list.gs-held",
      h("h4", { title: of.tensor }, `In this run ${title}`),
      facts(of.rows),
      image(of.tensor, of.picture),
      histogram(of.histogram),
      of.more && small("Show its picture", fetch, { verb: "fetch" }),
    );
  }

  /** Rows of facts; a fact that can be changed is a button. */
  #facts(names: string[], rows: string[][], about: Partial<Attributes>): Child {
    const of = new Map((about.attributes ?? []).map(a => [a.name, a] as const)),
      edits = this.#isEditable && about.device !== undefined,
      known = new Set(rows.map(([key]) => key));
    const all = [
      ...rows,
      ...[...of.values()].filter(a => !known.has(a.name)).map(a => [a.name, a.value || "different values"]),
      ...(edits && !known.has("device") ? [["device", about.device || "any"]] : []),
    ];
    return facts(all, (key, text) => {
      const a = of.get(key),
        isDevice = !a && key === "device";
      if (!edits || !(a || isDevice || (key === "type" && names.length === 1))) return text;
      const value = a?.previous ? `${a.value} ${SIGN.changed} was ${a.previous}` : isDevice ? about.device || "any" : text;
      const change = (e: Event) => {
        if (a) askValue(this.commands, names, a, belowButton(e));
        else if (isDevice) askDevice(this.commands, names, about.device ?? "");
        else this.commands.do("type");
      };
      return h("button.gs-link.gs-set", { "data-verb": "set_attr", "aria-label": `${key}: ${value}, change it`, onclick: change }, value);
    });
  }

  /** A value is fetched on request only. */
  #valueOf(name: string): VNode {
    const fetch = async () => {
      this.#value = await this.commands.send("value", { name });
      this.draw();
      focus(this.element.querySelector<HTMLElement>(".gs-value"));
    };
    return h(
      "div.gs-value",
      { tabindex: -1 },
      this.#value ? [facts(this.#value.rows), histogram(this.#value.histogram)] : small("Fetch the value", fetch, { verb: "value" }),
    );
  }

  #heading(key: string, title: string): VNode {
    const name = displayName(key),
      leaf = name.replace(/\/$/, "").split("/").pop() ?? name,
      path = name.slice(0, name.length - leaf.length).replace(/^\/$/, "");
    return h(
      "header.gs-inspect-head",
      h(
        "h3.gs-inspect-title",
        { title: name },
        path && path !== name && !name.endsWith("/") && h("span.gs-path", path),
        h("span.gs-leaf", name.endsWith("/") ? name : leaf),
      ),
      copyButton(name, "Name copied.", this.commands.notify, { icon: "copy", label: "Copy name", kind: "quiet" }),
      this.#isEditable && !key.startsWith("~") && small("Rename", () => askName(this.commands, key), { verb: "rename" }),
      title && title !== name.replace(/\/$/, "") && h("div.gs-type", title),
    );
  }

  /** A name without the scopes that it shares with the shown op. */
  #short(name: string): string {
    const at = this.#scope.length;
    return at && name.startsWith(this.#scope) && name.length > at ? `\u2026/${name.slice(at)}` : name;
  }

  #list<T>(title: string, items: T[], show: (item: T) => VNode, total = items.length): Child {
    if (!items.length) return null;
    const rest = total - Math.min(items.length, MOST);
    return h(
      "section.gs-inspect-list",
      title && h("h4", title, h("span.gs-n", figure(total))),
      h(
        "ul",
        items.slice(0, MOST).map(item => h("li", show(item))),
        rest > 0 && h("li.gs-muted", `and ${count(rest, "more", "more")}`),
      ),
    );
  }

  #link(name: string): VNode {
    return link(name, this.#reveal, this.#short(displayName(name)));
  }

  /** A tensor. An output of the op is only shown by its number; if there are several outputs, one is chosen for i and o. */
  #tensor({ tensor, text }: TensorText, op = "", choice = false): VNode {
    const index = `:${/:(\d+)$/.exec(tensor)?.[1] ?? "0"}`,
      own = op && tensor.startsWith(op + ":");
    const radio = () =>
      h("input", {
        type: "radio",
        name: this.id + "-output",
        checked: this.tensorOf(op) === tensor,
        onchange: () => this.#chosenOutputs.set(op, tensor),
      });
    return h(
      "div.gs-tensor",
      !own
        ? h("button.gs-link.gs-tensor-name", { title: tensor, onclick: () => this.#reveal(opOf(tensor)) }, this.#short(tensor))
        : choice
          ? h("label.gs-tensor-name", radio(), index)
          : h("span.gs-tensor-name", { title: tensor }, index),
      text && h("span.gs-tensor-text", text),
      !tensor.startsWith("^") && this.marks && h("span.gs-tensor-marks", this.#mark(tensor, "input"), this.#mark(tensor, "output")),
    );
  }

  #mark(tensor: string, as: "input" | "output"): VNode {
    const on = this.commands.model.get("boundary")[`${as}s`].some(t => t.tensor === tensor);
    return sends(this.commands.post, on ? "unmark" : `mark_${as}`, { tensor }, "", {
      icon: as,
      kind: as === "input" ? "mark-in" : "mark-out",
      verb: `mark_${as}`,
      label: `Boundary ${as} ${tensor}`,
      "aria-pressed": on,
    });
  }
}

function facts(rows: string[][], shown: (key: string, text: string) => Child = (_, text) => text): VNode | false {
  return (
    rows.length > 0 &&
    h(
      "dl.gs-facts",
      rows.map(([k = "", v = ""]) => [h("dt", k), h("dd", shown(k, v))]),
    )
  );
}

/** Bars of equal bins; the numbers at its ends are written below it. */
function histogram(of: Histogram | null | undefined): Child {
  if (!of?.counts.length) return null;
  const most = Math.max(1, ...of.counts),
    wide = 100 / of.counts.length,
    [low, high] = [of.low.toPrecision(4), of.high.toPrecision(4)];
  return h(
    "div",
    h(
      "svg.gs-histogram",
      { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": `histogram from ${low} to ${high}` },
      of.counts.map((n, i) => {
        const height = (38 * n) / most;
        return h("rect", {
          x: (i * wide).toFixed(2),
          y: (40 - height).toFixed(2),
          width: (wide * 0.86).toFixed(2),
          height: height.toFixed(2),
        });
      }),
    ),
    h("div.gs-range", h("span", low), h("span", high)),
  );
}
