// The bar at the bottom: the boundary and the copy on its first line, the plan on its second, the details of both below.
import { button, copyButton, count, field, figure, fill, h, handled, hasFocus } from "./dom";
import type { Ask } from "./api";
import { icon } from "./icons";
import { problems, tables } from "./plantabs";
import type { Unmapped } from "./verbs";
import { runPanel } from "./runpanel";
import type { Boundary, Plan, RunShown, State } from "./types";

export interface PlanEvents {
  copied(to: string | null, unmapped: Unmapped): void;
  applied(): void;
  tried(): void;
  compared(): void;
  said(text: string): void;
  went(name: string): void;
}

interface Tab {
  id: string;
  text: string;
  n: number;
  warn?: boolean;
  body(): Node;
}

export class PlanBar {
  readonly #summary = h("div", { class: "gs-summary", tabindex: -1, role: "group", "aria-label": "Boundary" });
  readonly #scope = field({
    class: "gs-copy-to",
    placeholder: "free scope",
    "aria-label": "Scope to copy to",
  });
  readonly #unmapped = h(
    "select",
    { class: "gs-select", "aria-label": "Inputs of the region that nothing is mapped to" },
    ...(
      [
        ["placeholder", "become placeholders"],
        ["keep", "keep reading the original"],
        ["include", "are copied too"],
        ["refuse", "are refused"],
      ] as const
    ).map(([value, text]) => h("option", { value }, text)),
  );
  readonly #copyButton = button({ text: "Copy", label: "Copy the region (c)", press: () => this.copy() });
  readonly #tabs = h("div", { class: "gs-tabs", role: "tablist", "aria-label": "Plan" });
  readonly #undo = button({ icon: icon("undo"), label: "Undo (Ctrl+Z)", kind: "quiet", press: () => this.ask("undo", {}) });
  readonly #redo = button({ icon: icon("redo"), label: "Redo (Ctrl+Shift+Z)", kind: "quiet", press: () => this.ask("redo", {}) });
  readonly #applyButton = button({
    text: "Apply",
    kind: "primary",
    label: "Apply the plan (Ctrl+Enter)",
    press: () => this.events.applied(),
  });
  readonly #tryButton = button({ text: "Try", label: "Run what the plan would make, in a copy (t)", press: () => this.events.tried() });
  readonly #compareButton = button({
    text: "Compare",
    label: "Run what was before the last plan and what is now, and say where they part",
    press: () => this.events.compared(),
  });
  readonly #panel = h("div", { class: "gs-panel", role: "tabpanel", tabindex: 0, hidden: true });
  readonly #copying: HTMLElement;
  readonly element: HTMLElement;
  #open = "";
  #list: Tab[] = [];
  #faults = 0;
  #shown = "";

  constructor(
    private readonly id: string,
    private readonly ask: Ask,
    private readonly events: PlanEvents,
  ) {
    this.#panel.id = `${id}-panel`;
    this.#copying = h(
      "div",
      { class: "gs-copying" },
      h("span", { class: "gs-word" }, "Copy to"),
      this.#scope,
      h("span", { class: "gs-word" }, "unmapped inputs"),
      this.#unmapped,
      this.#copyButton,
    );
    this.element = h(
      "section",
      { class: "gs-plan", "aria-label": "Plan" },
      h("div", { class: "gs-plan-row" }, this.#summary, this.#copying),
      h(
        "div",
        { class: "gs-plan-row" },
        this.#tabs,
        h("div", { class: "gs-row" }, this.#undo, this.#redo, this.#compareButton, this.#tryButton, this.#applyButton),
      ),
      this.#panel,
    );
    this.#scope.addEventListener("keydown", e => {
      if (e.key === "Enter" && !e.ctrlKey && !e.metaKey) {
        handled(e);
        this.copy();
      }
    });
    this.#tabs.addEventListener("keydown", e => this.#key(e));
  }

  update(boundary: Boundary, plan: Plan, run: State["run"] = {}, by = ""): void {
    this.#summarise(boundary);
    const empty = !plan.steps.length;
    this.#copying.hidden = !boundary.ops;
    this.#applyButton.disabled = this.#tryButton.disabled = !plan.ready;
    this.#compareButton.hidden = !empty || !plan.applied;
    this.#tryButton.hidden = empty;
    this.#undo.disabled = plan.undo === false;
    this.#redo.disabled = !plan.redo;
    const faults = plan.faults.length,
      warnings = plan.warnings.length;
    this.#list = [
      {
        id: "boundary",
        text: "Boundary",
        n: boundary.inputs.length + boundary.outputs.length,
        warn: boundary.leaks.length > 0,
        body: () => tables.boundary(boundary, this.ask),
      },
      ...(faults || warnings
        ? [
            {
              id: "problems",
              text: faults ? "Faults" : "Warnings",
              n: faults || warnings,
              warn: true,
              body: () => problems(plan, this.ask),
            },
          ]
        : []),
      { id: "steps", text: "Steps", n: plan.steps.length, body: () => tables.steps(plan) },
      { id: "variables", text: "Variables", n: plan.variables.length, body: () => tables.variables(plan, this.ask) },
      { id: "names", text: "New ops", n: plan.counts.ops, body: () => tables.names(plan) },
      { id: "connections", text: "Connections", n: plan.counts.connections, body: () => tables.connections(plan) },
      { id: "code", text: "Code", n: 0, body: () => this.#code(plan.code) },
    ].filter(t => t.id === "boundary" || t.id === "problems" || !empty) as Tab[];
    if ("tops" in run) {
      const body = () => runPanel(run as RunShown, this.ask, by, this.events.went, this.events.said);
      this.#list.push({ id: "run", text: "Run", n: 0, warn: !!(run.bad || run.stopped), body });
    }
    // what went wrong is shown at once, not only counted
    if (faults && !this.#faults) this.#open = "problems";
    this.#faults = faults;
    this.#draw();
  }

  /** Opens a tab of the panel; the plan's faults open by themselves when a step brought them. */
  show(id: string, focus = false): void {
    this.#open = id;
    this.#draw();
    if (focus) this.element.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus();
  }

  focusSummary(): void {
    this.show("boundary", true);
  }

  copy(): void {
    this.events.copied(this.#scope.value.trim() || null, this.#unmapped.value as Unmapped);
  }

  #summarise(b: Boundary): void {
    const had = hasFocus(this.#summary),
      leaks = b.leaks.length + b.control_leaks.length;
    const hint = [
      "Select an op, then ",
      h("kbd", {}, "i"),
      " marks its output as an input of the boundary, ",
      h("kbd", {}, "o"),
      " as an output.",
    ];
    if (!b.inputs.length && !b.outputs.length && !b.ops) fill(this.#summary, h("span", { class: "gs-muted" }, ...hint));
    else
      fill(
        this.#summary,
        h("span", { class: "gs-tag gs-tag-in" }, `\u25b7 ${b.inputs.length} in`),
        h("span", { class: "gs-tag gs-tag-out" }, `\u25c1 ${b.outputs.length} out`),
        h("span", { class: "gs-figure" }, count(b.ops, "op")),
        b.variables > 0 && h("span", { class: "gs-figure" }, count(b.variables, "variable")),
        leaks > 0 &&
          h("button", { class: "gs-tag gs-tag-leak", on: { click: () => this.show("boundary", true) } }, `\u26a0 ${count(leaks, "leak")}`),
        b.problem && h("span", { class: "gs-problem", title: b.problem }, b.problem),
        button({ icon: icon("close"), label: "Clear the boundary", kind: "quiet", press: () => this.ask("clear_boundary", {}) }),
      );
    if (had) this.#summary.focus();
  }

  #draw(): void {
    const had = hasFocus(this.#tabs),
      was = this.#shown,
      held = controls(this.#panel).indexOf(document.activeElement as HTMLElement);
    const label = nameOf(document.activeElement);
    if (this.#open && !this.#list.some(t => t.id === this.#open)) this.#open = "";
    const stop = this.#open || this.#list[0]?.id;
    fill(
      this.#tabs,
      ...this.#list.map(t => {
        const on = t.id === this.#open;
        return h(
          "button",
          {
            role: "tab",
            class: `gs-tab${t.warn ? " gs-warn" : ""}`,
            id: `${this.id}-tab-${t.id}`,
            "aria-selected": String(on),
            "aria-controls": on ? this.#panel.id : undefined,
            tabindex: t.id === stop ? 0 : -1,
            "data-tab": t.id,
            on: {
              click: () => {
                this.#open = on ? "" : t.id;
                this.#draw();
                this.#refocus(t.id);
              },
            },
          },
          t.warn && icon("warn"),
          t.text,
          t.n > 0 && h("span", { class: "gs-n" }, figure(t.n)),
        );
      }),
    );
    if (had) this.#refocus(stop ?? "");
    const tab = this.#list.find(t => t.id === this.#open);
    this.#panel.hidden = !tab;
    if (tab) this.#panel.setAttribute("aria-labelledby", `${this.id}-tab-${tab.id}`);
    else this.#panel.removeAttribute("aria-labelledby");
    fill(this.#panel, tab?.body());
    this.#shown = this.#open;
    // what was pressed is gone: the keyboard goes to its like, never to the notebook
    if (held < 0) return;
    const now = was === this.#open ? controls(this.#panel) : [];
    if (tab) (now.find(e => nameOf(e) === label) ?? now[Math.min(held, now.length - 1)] ?? this.#panel).focus();
    else this.#refocus(stop ?? "");
  }

  #refocus(id: string): void {
    [...this.#tabs.children]
      .map(e => e as HTMLElement)
      .find(e => e.dataset.tab === id)
      ?.focus();
  }

  #key(e: KeyboardEvent): void {
    const tabs = [...this.#tabs.children] as HTMLElement[],
      at = tabs.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined || at < 0) return;
    handled(e);
    tabs[(to + tabs.length) % tabs.length]!.focus();
  }

  #code(text: string): HTMLElement {
    return h(
      "div",
      { class: "gs-code" },
      copyButton({ icon: icon("copy"), text: "Copy code" }, text, "Code copied.", this.events.said),
      h("pre", { tabindex: 0, role: "region", "aria-label": "Python code of the plan" }, text),
    );
  }
}

function controls(panel: HTMLElement): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>("button, select, pre")];
}

function nameOf(e: Element | null): string {
  return e?.getAttribute("aria-label") ?? e?.textContent ?? "";
}
