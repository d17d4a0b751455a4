// The panel of a run below the plan: the outputs, the source of the first NaN, the colors, the most expensive ops.
import { copyButton, h, link, muted, small } from "./dom";
import type { Post } from "../model/api";
import type { ColorBy, RunReport } from "../model/types.generated";
import { opOf } from "../state/places";

/** The measures of a run for the colors of the boxes. */
const MEASURES: [ColorBy, string][] = [
  ["ms", "Time"],
  ["bytes", "Memory"],
  ["magnitude", "Magnitude"],
  ["zeros", "Share of zeros"],
  ["not finite", "Not finite"],
];
const DIFFERENCE: [ColorBy, string] = ["difference", "Difference"];

/** The measures that a run has. */
export function measures(run: RunReport): [ColorBy, string][] {
  return run.first_difference ? [DIFFERENCE, ...MEASURES] : MEASURES;
}

export function runPanel(run: RunReport, ask: Post, by: string, go: (name: string) => void, say: (text: string) => void): HTMLElement {
  const { bad, first_difference: apart } = run;
  return h(
    "div",
    { class: "gs-run" },
    h("div", { class: "gs-tops gs-answers" }, ...run.outputs.map(one => output(one, go))),
    h(
      "div",
      { class: "gs-row gs-measures", role: "group", "aria-label": "Color by" },
      ...measures(run).map(([key, text]) =>
        small(text, () => ask("paint", { by: by === key ? "family" : key }), undefined, {
          "aria-pressed": String(by === key),
          verb: "paint",
        }),
      ),
      copyButton({ text: "Copy Python", kind: "small", title: run.code }, run.code, "Code copied.", say),
      small("Clear the run", () => ask("clear_run", {}), undefined, { verb: "clear_run" }),
    ),
    bad &&
      h(
        "div",
        { class: "gs-bad" },
        h("div", {}, h("span", { class: "gs-tag gs-tag-fault" }, "first not finite"), " ", link(bad.op, go), "  ", bad.text),
        ...bad.inputs.map(text => muted(`its input: ${text}`)),
        h("div", { class: "gs-way" }, "path: ", ...bad.path.flatMap((name, i) => [i ? " \u2190 " : null, link(name, go)])),
      ),
    apart &&
      h(
        "div",
        { class: "gs-bad" },
        apart.op
          ? h("div", {}, h("span", { class: "gs-tag gs-tag-leak" }, "first difference"), " ", link(apart.op, go), "  ", apart.text)
          : muted("No difference: ", apart.text),
        apart.op && muted(`before: ${apart.before}`),
      ),
    h(
      "div",
      { class: "gs-tops" },
      ...(["ms", "bytes"] as const).map(what =>
        h(
          "section",
          {},
          h("h4", {}, what === "ms" ? "Most time" : "Most memory"),
          h("ol", {}, ...run.tops[what].map(([name, text]) => h("li", {}, link(name, go), h("span", { class: "gs-muted" }, text)))),
        ),
      ),
    ),
  );
}

/** An output of the run: its largest elements as bars, or its picture. */
function output({ tensor, text, values, picture }: RunReport["outputs"][number], go: (name: string) => void): HTMLElement {
  return h(
    "section",
    {},
    h("h4", {}, "Output ", link(opOf(tensor), go)),
    muted(text),
    values.length > 0 &&
      h(
        "ol",
        {},
        ...values.map(([index, value, bar]) =>
          h("li", {}, h("span", { class: "gs-n" }, index), h("progress", { value: bar, max: 1, "aria-label": `element ${index}` }), value),
        ),
      ),
    picture.startsWith("data:image/png;") && h("img", { class: "gs-picture", src: picture, alt: `Picture of ${tensor}` }),
  );
}
