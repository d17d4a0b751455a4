// The inspector on the right: the selection, its tensors, and their mark buttons.
import { figure, focus } from "./dom";
import { askDevice, askName, askValue } from "../commands/edits";
import type { Registry } from "../commands/registry";
import { belowButton, button, copyButton, image, link, muted, sends, small } from "./parts";
import { type Child, make, draw, h, type VNode } from "./vnodes";
import { displayName, opOf, sharedScope } from "../state/places";
import type { Attributes, Details, EdgeTensors, Histogram, Numbers, TensorText, TensorValues } from "../model/types.generated";
import { SIGN } from "../model/drawing.generated";

const MOST = 60;

/** Makes the inspector. */
export function inspectorPanel(id: string, commands: Registry) {
  const element = make("aside");
  const chosenOutputs = new Map<string, string>();
  let scope = "",
    current = "",
    body: () => Child = () => null,
    fetchedValue: Numbers | null = null,
    /** whether the shown tensors can be marked */ canMark = true;
  /** The values that were fetched on request: of a tensor in the run, or of the shown op. */
  const fetched = new Map<string, TensorValues>();

  /** Whether the shown ops can be changed. */
  function isEditable(): boolean {
    return commands.api.answers("set_attr") && !commands.refusal(commands.pane);
  }

  const reveal = (name: string): void => commands.reveal(commands.state.active, name);

  /** The tensor that i and o mark for an op: the one chosen here, or its first output. */
  function tensorOf(op: string): string {
    return chosenOutputs.get(op) ?? `${op}:0`;
  }

  /** Nothing is selected: shows the model in one line. */
  function nothing(): void {
    setBody("", () => {
      const { model } = commands.model.get("titles");
      return [model && h("p", model), muted("Select an op to see its type, its attributes and its tensors.")];
    });
  }

  function waiting(name: string): void {
    if (current === name) return; // it is shown already, and an update follows
    setBody("\u2026", () => [heading(name, ""), muted("\u2026")]);
  }

  function several(names: string[], about: Attributes | null = null): void {
    scope = sharedScope(names.map(displayName));
    setBody(names.join(), () => [
      h("h3.gs-inspect-title", `${names.length} selected`),
      h(
        "div.gs-row",
        button({
          text: "Boundary of the selection",
          verb: "mark_boundary",
          title: "Shift+B",
          onclick: () => commands.post("mark_boundary", {}),
        }),
      ),
      about && editableFacts(names, [["types", about.types.map(([t, n]) => `${figure(n)} ${t}`).join(", ")]], about),
      listOf("", names, n => opLink(n)),
    ]);
  }

  function showEdge(title: string, way: string, { tensors, values }: EdgeTensors, more: number, marks: boolean): void {
    canMark = marks;
    scope = sharedScope(tensors.map(t => opOf(t.tensor)));
    setBody("\u2192", () => [
      h("h3.gs-inspect-title", { title }, h("span.gs-leaf", title)),
      h("p.gs-doc.gs-way", way),
      listOf("", tensors, t => tensorLine(t)),
      more > 0 && muted(`and ${more} more`),
      values.map(one => runValues(one, one.tensor)),
    ]);
  }

  function show(name: string, d: Details, isOp: boolean, marks: boolean): void {
    canMark = marks;
    scope = isOp ? name.slice(0, name.lastIndexOf("/") + 1) : name;
    setBody(name, () => [
      heading(name, d.title),
      d.doc && h("p.gs-doc", d.doc),
      editableFacts([name], d.rows, d),
      histogram(d.histogram),
      d.value && valuePart(name),
      (d.run ?? []).map(one => runValues(one)),
      listOf("Outputs", d.outputs, t => tensorLine(t, isOp ? name : "", d.outputs.length > 1), d.totals.outputs),
      listOf("Inputs", d.inputs, t => tensorLine(t), d.totals.inputs),
      listOf("Control inputs", d.control_inputs, n => opLink(n), d.totals.control_inputs),
      listOf("Consumers", d.consumers, n => opLink(n), d.totals.consumers),
      !!d.python &&
        h(
          "div.gs-row",
          copyButton(d.python, `Copied: ${d.python.slice(0, 80)}`, commands.notify, {
            text: "Copy Python",
            kind: "small",
            title: d.python,
          }),
        ),
    ]);
  }

  /** Shows a body for a selection. */
  function setBody(selection: string, content: () => Child): void {
    current = selection;
    body = content;
    fetched.clear();
    fetchedValue = null;
    redraw();
  }

  function redraw(): void {
    draw(
      element,
      h(
        "aside.gs-inspector",
        { "aria-label": "Inspector", class: !current && "gs-idle" },
        h("div.gs-inspect-body", { key: current }, body()),
      ),
    );
  }

  /** The values of a tensor in the run; all elements of a large one are fetched on request. */
  function runValues(given: TensorValues, title = `:${/\d+$/.exec(given.tensor)?.[0] ?? 0}`): VNode {
    const of = fetched.get(given.tensor) ?? given;
    const fetch = async () => {
      const found = await commands.send("fetch", { tensor: of.tensor });
      if (!found) return;
      fetched.set(of.tensor, { ...found, more: false });
      redraw();
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
  function editableFacts(names: string[], rows: string[][], about: Partial<Attributes>): Child {
    const of = new Map((about.attributes ?? []).map(a => [a.name, a] as const)),
      edits = isEditable() && about.device !== undefined,
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
        if (a) askValue(commands, names, a, belowButton(e));
        else if (isDevice) askDevice(commands, names, about.device ?? "");
        else commands.do("type");
      };
      return h("button.gs-link.gs-set", { "data-verb": "set_attr", "aria-label": `${key}: ${value}, change it`, onclick: change }, value);
    });
  }

  /** A value is fetched on request only. */
  function valuePart(name: string): VNode {
    const fetch = async () => {
      fetchedValue = await commands.send("value", { name });
      redraw();
      focus(element.querySelector<HTMLElement>(".gs-value"));
    };
    return h(
      "div.gs-value",
      { tabindex: -1 },
      fetchedValue ? [facts(fetchedValue.rows), histogram(fetchedValue.histogram)] : small("Fetch the value", fetch, { verb: "value" }),
    );
  }

  function heading(key: string, title: string): VNode {
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
      copyButton(name, "Name copied.", commands.notify, { icon: "copy", label: "Copy name", kind: "quiet" }),
      isEditable() && !key.startsWith("~") && small("Rename", () => askName(commands, key), { verb: "rename" }),
      title && title !== name.replace(/\/$/, "") && h("div.gs-type", title),
    );
  }

  /** A name without the scopes that it shares with the shown op. */
  function shortName(name: string): string {
    const at = scope.length;
    return at && name.startsWith(scope) && name.length > at ? `\u2026/${name.slice(at)}` : name;
  }

  function listOf<T>(title: string, items: T[], show: (item: T) => VNode, total = items.length): Child {
    if (!items.length) return null;
    const rest = total - Math.min(items.length, MOST);
    return h(
      "section.gs-inspect-list",
      title && h("h4", title, h("span.gs-n", figure(total))),
      h(
        "ul",
        items.slice(0, MOST).map(item => h("li", show(item))),
        rest > 0 && h("li.gs-muted", `and ${figure(rest)} more`),
      ),
    );
  }

  function opLink(name: string): VNode {
    return link(name, reveal, shortName(displayName(name)));
  }

  /** A tensor. An output of the op is only shown by its number; if there are several outputs, one is chosen for i and o. */
  function tensorLine({ tensor, text }: TensorText, op = "", choice = false): VNode {
    const index = `:${/:(\d+)$/.exec(tensor)?.[1] ?? "0"}`,
      own = op && tensor.startsWith(op + ":");
    const radio = () =>
      h("input", {
        type: "radio",
        name: id + "-output",
        checked: tensorOf(op) === tensor,
        onchange: () => chosenOutputs.set(op, tensor),
      });
    return h(
      "div.gs-tensor",
      !own
        ? h("button.gs-link.gs-tensor-name", { title: tensor, onclick: () => reveal(opOf(tensor)) }, shortName(tensor))
        : choice
          ? h("label.gs-tensor-name", radio(), index)
          : h("span.gs-tensor-name", { title: tensor }, index),
      text && h("span.gs-tensor-text", text),
      !tensor.startsWith("^") && canMark && h("span.gs-tensor-marks", markButton(tensor, "input"), markButton(tensor, "output")),
    );
  }

  function markButton(tensor: string, as: "input" | "output"): VNode {
    const on = commands.model.get("boundary")[`${as}s`].some(t => t.tensor === tensor);
    return sends(commands.post, on ? "unmark" : `mark_${as}`, { tensor }, "", {
      icon: as,
      kind: as === "input" ? "mark-in" : "mark-out",
      verb: `mark_${as}`,
      label: `Boundary ${as} ${tensor}`,
      "aria-pressed": on,
    });
  }

  nothing();

  return { element, nothing, waiting, several, show, edge: showEdge, tensorOf, draw: redraw };
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
