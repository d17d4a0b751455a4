// The panel of a run below the plan: the outputs, the source of the first NaN, the colors, the most expensive ops.
import { copyButton, group, image, link, muted, sends } from "./parts";
import { h, type VNode } from "./vnodes";
import type { Actions } from "../commands/actions";
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

export function runPanel(run: RunReport, actions: Actions): VNode {
  const { bad, first_difference: apart, pane } = run,
    { notify, post } = actions,
    by = actions.model.get("look")?.name ?? "",
    go = (name: string) => actions.reveal(pane, name);
  return h(
    "div.gs-run",
    h(
      "div.gs-tops.gs-answers",
      run.outputs.map(({ tensor, text, values, picture }) =>
        h(
          "section",
          h("h4", "Output ", link(opOf(tensor), go)),
          muted(text),
          values.length > 0 &&
            h(
              "ol",
              values.map(([index, value, bar]) =>
                h("li", h("span.gs-n", index), h("progress", { value: bar, max: 1, "aria-label": `element ${index}` }), value),
              ),
            ),
          image(tensor, picture),
        ),
      ),
    ),
    group(
      "div.gs-row.gs-measures",
      "Color by",
      measures(run).map(([key, text]) => sends(post, "paint", { by: by === key ? "family" : key }, text, { "aria-pressed": by === key })),
      copyButton(run.code, "Code copied.", notify, { text: "Copy Python", kind: "small", title: run.code }),
      sends(post, "clear_run", {}, "Clear the run"),
    ),
    bad &&
      h(
        "div.gs-bad",
        h("div", h("span.gs-tag.gs-tag-fault", "first not finite"), " ", link(bad.op, go), "  ", bad.text),
        bad.inputs.map(text => muted(`its input: ${text}`)),
        h(
          "div.gs-way",
          "path: ",
          bad.path.map((name, i) => [i > 0 && " \u2190 ", link(name, go)]),
        ),
      ),
    apart &&
      h(
        "div.gs-bad",
        apart.op
          ? h("div", h("span.gs-tag.gs-tag-leak", "first difference"), " ", link(apart.op, go), "  ", apart.text)
          : muted("No difference: ", apart.text),
        apart.op && muted(`before: ${apart.before}`),
      ),
    h(
      "div.gs-tops",
      (["ms", "bytes"] as const).map(what =>
        h(
          "section",
          h("h4", what === "ms" ? "Most time" : "Most memory"),
          h(
            "ol",
            run.tops[what].map(([name, text]) => h("li", link(name, go), h("span.gs-muted", text))),
          ),
        ),
      ),
    ),
  );
}
