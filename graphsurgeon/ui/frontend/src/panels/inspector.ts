// The inspector on the right: the selection, its tensors, and their mark buttons.
import { button, copyButton, count, figure, fill, focus, h, hasFocus, link, muted, s, small, focused } from "./dom";
import type { Post } from "../model/api";
import { icon } from "./icons";
import { displayName, opOf, sharedScope } from "../state/places";
import type {
  Attribute,
  Attributes,
  Boundary,
  Details,
  EdgeTensors,
  Histogram,
  Numbers,
  TensorText,
  TensorValues,
} from "../model/types.generated";
import { SIGN } from "../model/signs.generated";
import type { Position } from "./popup";

export interface InspectorEvents {
  /** the model in one line; empty if it is not known */ modelText(): string;
  /** whether the shown ops can be changed */ editable(): boolean;
  set(names: string[], a: Attribute, at: Position): void;
  setDevice(names: string[], device: string): void;
  replaceType(): void;
  rename(name: string): void;
  reveal(name: string): void;
  showStatus(text: string): void;
  fetchTensor(tensor: string): Promise<TensorValues | null>;
  fetchValue(name: string): Promise<Numbers | null>;
}

const MOST = 60;

export class Inspector {
  readonly #body = h("div", { class: "gs-inspect-body" });
  readonly element = h("aside", { class: "gs-inspector", "aria-label": "Inspector" }, this.#body);
  #chosenOutputs = new Map<string, string>();
  #scope = "";
  #current = "";
  #render: (() => void) | null = null;
  #boundary: Boundary | null = null;
  /** Whether the shown tensors can be marked. */
  marks = true;

  readonly #id: string;
  readonly #post: Post;
  readonly #events: InspectorEvents;

  constructor(id: string, post: Post, events: InspectorEvents) {
    this.#id = id;
    this.#post = post;
    this.#events = events;
    this.nothing();
  }

  /** The tensor that i and o mark for an op: the one chosen here, or its first output. */
  tensorOf(op: string): string {
    return this.#chosenOutputs.get(op) ?? `${op}:0`;
  }

  update(boundary: Boundary): void {
    this.#boundary = boundary;
    this.#render?.();
  }

  /** Nothing is selected: shows the model in one line. */
  nothing(): void {
    this.#current = "";
    this.#set(() => {
      const model = this.#events.modelText();
      return [model ? h("p", {}, model) : null, muted("Select an op to see its type, its attributes and its tensors.")];
    });
    this.element.classList.add("gs-idle");
  }

  waiting(name: string): void {
    if (this.#current === name) return; // it is shown already, and an update follows
    this.#set(() => [this.#heading(name, ""), muted("\u2026")]);
  }

  several(names: string[], about: Attributes | null = null): void {
    this.#current = names.join();
    this.#scope = sharedScope(names.map(displayName));
    this.#set(() => [
      h("h3", { class: "gs-inspect-title" }, `${names.length} selected`),
      h(
        "div",
        { class: "gs-row" },
        button({
          text: "Boundary of the selection",
          verb: "mark_boundary",
          press: () => this.#post("mark_boundary", {}),
          title: "Shift+B",
        }),
      ),
      about && this.#facts(names, [["types", about.types.map(([t, n]) => `${figure(n)} ${t}`).join(", ")]], about),
      this.#list(
        "",
        names.map(n => this.#link(n)),
      ),
    ]);
  }

  edge(title: string, way: string, { tensors, values }: EdgeTensors, more: number): void {
    this.#current = "";
    this.#scope = sharedScope(tensors.map(t => opOf(t.tensor)));
    this.#set(() => [
      h("h3", { class: "gs-inspect-title", title }, h("span", { class: "gs-leaf" }, title)),
      h("p", { class: "gs-doc gs-way" }, way),
      this.#list(
        "",
        tensors.map(t => this.#tensor(t)),
      ),
      more > 0 && muted(`and ${more} more`),
      ...values.map(one => this.#runValues(one, one.tensor)),
    ]);
  }

  show(name: string, d: Details, isOp: boolean): void {
    this.#current = name;
    this.#scope = isOp ? name.slice(0, name.lastIndexOf("/") + 1) : name;
    this.#set(() => {
      const outputs = d.outputs.map(t => this.#tensor(t, isOp ? name : "", d.outputs.length > 1)),
        inputs = d.inputs.map(t => this.#tensor(t)),
        [waits, readers] = [d.control_inputs, d.consumers].map(names => names.map(n => this.#link(n))) as [HTMLElement[], HTMLElement[]];
      return [
        this.#heading(name, d.title),
        d.doc && h("p", { class: "gs-doc" }, d.doc),
        this.#facts([name], d.rows, d),
        histogram(d.histogram),
        d.value ? this.#valueOf(name) : null,
        ...(d.run ?? []).map(one => this.#runValues(one)),
        this.#list("Outputs", outputs, d.totals.outputs),
        this.#list("Inputs", inputs, d.totals.inputs),
        this.#list("Control inputs", waits, d.totals.control_inputs),
        this.#list("Consumers", readers, d.totals.consumers),
        !!d.python &&
          h(
            "div",
            { class: "gs-row" },
            copyButton(
              { text: "Copy Python", kind: "small", title: d.python },
              d.python,
              `Copied: ${d.python.slice(0, 80)}`,
              this.#events.showStatus,
            ),
          ),
      ];
    });
  }

  /** The values of a tensor in the run; all elements of a large one are fetched on request. */
  #runValues(of: TensorValues, title?: string): HTMLElement {
    const shown = runValues(of, title);
    if (of.more)
      shown.append(
        small(
          "Show its picture",
          async () => {
            const found = await this.#events.fetchTensor(of.tensor);
            if (found) shown.replaceWith(runValues(found, title));
          },
          undefined,
          { verb: "fetch" },
        ),
      );
    return shown;
  }

  /** Rows of facts; a fact that can be changed is a button. */
  #facts(names: string[], rows: string[][], about: Partial<Attributes>): HTMLElement | null {
    const of = new Map((about.attributes ?? []).map(a => [a.name, a] as const)),
      edits = this.#events.editable() && about.device !== undefined,
      known = new Set(rows.map(([key]) => key));
    const all = [
      ...rows,
      ...[...of.values()].filter(a => !known.has(a.name)).map(a => [a.name, a.value || "different values"]),
      ...(edits && !known.has("device") ? [["device", about.device || "any"]] : []),
    ];
    return facts(all, (key, text) => {
      const a = of.get(key);
      if (!edits || !(a || key === "device" || (key === "type" && names.length === 1))) return text;
      const value = a
        ? a.previous
          ? `${a.value} ${SIGN.changed} was ${a.previous}`
          : text
        : key === "device"
          ? about.device || "any"
          : text;
      const element = h(
        "button",
        {
          class: "gs-link gs-set",
          "data-focus": `set ${key}`,
          "data-verb": "set_attr",
          "aria-label": `${key}: ${value}, change it`,
          on: {
            click: () => {
              const r = element.getBoundingClientRect();
              if (a) this.#events.set(names, a, { x: r.left, y: r.bottom + 2 });
              else if (key === "device") this.#events.setDevice(names, about.device ?? "");
              else this.#events.replaceType();
            },
          },
        },
        value,
      );
      return element;
    });
  }

  /** A value is fetched on request only. */
  #valueOf(name: string): HTMLElement {
    const place = h("div", { class: "gs-value", tabindex: -1 });
    place.append(
      small(
        "Fetch the value",
        async () => {
          const found = await this.#events.fetchValue(name);
          if (!found) return;
          fill(place, facts(found.rows), histogram(found.histogram));
          focus(place);
        },
        undefined,
        { verb: "value" },
      ),
    );
    return place;
  }

  #set(make: () => (Node | false | string | null)[]): void {
    this.element.classList.remove("gs-idle");
    this.#render = () => {
      // a pressed mark button is replaced: the focus goes to its successor
      const old = hasFocus(this.#body) ? focused().dataset.focus : undefined;
      fill(this.#body, ...make());
      if (old) focus([...this.#body.querySelectorAll<HTMLElement>("[data-focus]")].find(e => e.dataset.focus === old));
    };
    this.#render();
  }

  #heading(key: string, title: string): HTMLElement {
    const name = displayName(key),
      leaf = name.replace(/\/$/, "").split("/").pop() ?? name,
      path = name.slice(0, name.length - leaf.length).replace(/^\/$/, "");
    const copy = copyButton({ icon: icon("copy"), label: "Copy name", kind: "quiet" }, name, "Name copied.", this.#events.showStatus);
    return h(
      "header",
      { class: "gs-inspect-head" },
      h(
        "h3",
        { class: "gs-inspect-title", title: name },
        path && path !== name && !name.endsWith("/") ? h("span", { class: "gs-path" }, path) : null,
        h("span", { class: "gs-leaf" }, name.endsWith("/") ? name : leaf),
      ),
      copy,
      this.#events.editable() &&
        !key.startsWith("~") &&
        small("Rename", () => this.#events.rename(key), undefined, { "data-focus": "rename", verb: "rename" }),
      title && title !== name.replace(/\/$/, "") && h("div", { class: "gs-type" }, title),
    );
  }

  /** A name without the scopes that it shares with the shown op. */
  #short(name: string): string {
    const at = this.#scope.length;
    return at && name.startsWith(this.#scope) && name.length > at ? `\u2026/${name.slice(at)}` : name;
  }

  #list(title: string, items: HTMLElement[], total = items.length): HTMLElement | null {
    if (!items.length) return null;
    const rest = total - Math.min(items.length, MOST);
    return h(
      "section",
      { class: "gs-inspect-list" },
      title && h("h4", {}, title, h("span", { class: "gs-n" }, figure(total))),
      h(
        "ul",
        {},
        ...items.slice(0, MOST).map(i => h("li", {}, i)),
        rest > 0 && h("li", { class: "gs-muted" }, `and ${count(rest, "more", "more")}`),
      ),
    );
  }

  #link(name: string): HTMLElement {
    return link(name, this.#events.reveal, this.#short(displayName(name)));
  }

  /** A tensor. An output of the op is only shown by its number; if there are several outputs, one is chosen for i and o. */
  #tensor(t: TensorText, op = "", choice = false): HTMLElement {
    const index = /:(\d+)$/.exec(t.tensor)?.[1] ?? "0",
      isControl = t.tensor.startsWith("^");
    const own = op && t.tensor.startsWith(op + ":");
    const name =
      own && !choice
        ? h("span", { class: "gs-tensor-name", title: t.tensor }, `:${index}`)
        : own
          ? h(
              "label",
              { class: "gs-tensor-name" },
              h("input", {
                type: "radio",
                name: this.#id + "-output",
                checked: this.tensorOf(op) === t.tensor,
                on: { change: () => this.#chosenOutputs.set(op, t.tensor) },
              }),
              `:${index}`,
            )
          : h(
              "button",
              {
                class: "gs-link gs-tensor-name",
                title: t.tensor,
                on: { click: () => this.#events.reveal(opOf(t.tensor)) },
              },
              this.#short(t.tensor),
            );
    return h(
      "div",
      { class: "gs-tensor" },
      name,
      t.text && h("span", { class: "gs-tensor-text" }, t.text),
      !isControl && this.marks && h("span", { class: "gs-tensor-marks" }, this.#mark(t.tensor, "input"), this.#mark(t.tensor, "output")),
    );
  }

  #mark(tensor: string, as: "input" | "output"): HTMLElement {
    const on = (as === "input" ? this.#boundary?.inputs : this.#boundary?.outputs)?.some(t => t.tensor === tensor) ?? false;
    return button({
      icon: icon(as),
      kind: as === "input" ? "mark-in" : "mark-out",
      verb: `mark_${as}`,
      label: `Boundary ${as} ${tensor}`,
      "aria-pressed": String(on),
      "data-focus": `${as} ${tensor}`,
      press: () => this.#post(on ? "unmark" : `mark_${as}`, { tensor }),
    });
  }
}

function facts(rows: string[][], shown: (key: string, text: string) => Node | string = (_, text) => text): HTMLElement | null {
  return rows.length
    ? h("dl", { class: "gs-facts" }, ...rows.flatMap(([k = "", v = ""]) => [h("dt", {}, k), h("dd", {}, shown(k, v))]))
    : null;
}

/** The values of a tensor in the run. */
function runValues(of: TensorValues, title = `:${/\d+$/.exec(of.tensor)?.[0] ?? 0}`): HTMLElement {
  const { picture } = of;
  return h(
    "section",
    { class: "gs-inspect-list gs-held" },
    h("h4", { title: of.tensor }, `In this run ${title}`),
    facts(of.rows),
    picture.startsWith("data:image/png;") ? h("img", { class: "gs-picture", src: picture, alt: `Picture of ${of.tensor}` }) : null,
    histogram(of.histogram),
  );
}

/** Bars of equal bins; the numbers at its ends are written below it. */
function histogram(of: Histogram | null | undefined): HTMLElement | null {
  if (!of?.counts.length) return null;
  const most = Math.max(1, ...of.counts),
    wide = 100 / of.counts.length;
  const svg = s("svg", {
    class: "gs-histogram",
    viewBox: "0 0 100 40",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `histogram from ${of.low.toPrecision(4)} to ${of.high.toPrecision(4)}`,
  });
  of.counts.forEach((n, i) =>
    svg.append(
      s("rect", {
        x: (i * wide).toFixed(2),
        y: (40 - (38 * n) / most).toFixed(2),
        width: (wide * 0.86).toFixed(2),
        height: ((38 * n) / most).toFixed(2),
      }),
    ),
  );
  return h("div", {}, svg, h("div", { class: "gs-range" }, h("span", {}, of.low.toPrecision(4)), h("span", {}, of.high.toPrecision(4))));
}
