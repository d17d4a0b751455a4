// The bar at the bottom: the boundary and the copy, if a tensor is marked; the tabs and their details; the buttons of the plan. The tabs
// have their own line if there is a plan. The buttons are next to the status.
import { consume, count, figure, focused, hasFocus, rove } from "./dom";
import { askStep } from "../commands/edits";
import { openRunForm } from "../commands/forms";
import type { Registry } from "../commands/registry";
import { icon } from "./icons";
import { button, copyButton, field, group, muted, select, sends } from "./parts";
import { tables } from "./plantabs";
import { type Child, make, draw, h, type VNode } from "./vnodes";
import type { MarkedBoundary, PaneName, Plan, Report, Unmapped, Waits } from "../model/types.generated";
import { runPanel } from "./runpanel";

const LOST = "The kernel stopped. Copy this code, run the cell again, then run the code in a new cell.";

const UNMARKED = "No tensor is marked: press i or o on an op.",
  REGION = "Region: the ops between the boundary inputs and outputs, which a copy copies",
  LEAK = "Leak: a tensor or control input that the region needs, but no boundary input covers",
  UNMAPPED = "Unmapped inputs: boundary inputs of the region for which the plan has no source";

const SOURCES: [Unmapped, string][] = [
  ["placeholder", "add placeholders"],
  ["keep", "read the original"],
  ["include", "copy their ops too"],
  ["refuse", "report an error"],
];

interface Tab {
  id: string;
  text: string;
  n: number;
  warn: boolean;
  body(): VNode;
}

export class PlanBar {
  readonly element = make("section");
  /** The buttons, which are after the status. */
  readonly buttons = make("div");
  #openTab = "";
  #shownTab: string | undefined;
  #tabList: Tab[] = [];
  #faults = 0;
  /** the code of the applied plans, and the history that it is for */
  #historyCode: { past: unknown; code: string } | null = null;

  constructor(
    private readonly id: string,
    private readonly commands: Registry,
  ) {}

  #reveal = (name: string, pane?: PaneName): void => {
    this.commands.reveal(pane ?? this.commands.run?.pane ?? "source", name);
  };

  /** Opens a tab of the panel; the errors of a plan open when a step adds them. */
  show(id: string, focus = false): void {
    this.#openTab = id;
    this.draw();
    if (focus) this.#focusTab();
  }

  /** The kernel stopped: nothing can be applied, and the plan is shown as code. */
  stopKernel(): void {
    if (this.#tabList.some(t => t.id === "code")) this.#openTab = "code";
    this.draw();
  }

  focusSummary(): void {
    if (isMarked(this.commands.model.get("boundary"))) this.show("boundary", true);
    else this.commands.notify(UNMARKED);
  }

  copy(byKey = false, control: Waits = "auto"): void {
    const [to, unmapped] = [".gs-copy-to", ".gs-copying select"].map(
      fields => this.element.querySelector<HTMLInputElement>(fields)!.value,
    ) as [string, Unmapped];
    void this.commands.copy({ to: to.trim() || null, unmapped, control }, byKey);
  }

  /** Focuses the first source field of the tab Mapping. */
  focusMapping(): void {
    this.element.querySelector<HTMLElement>("td .gs-entered")?.focus();
  }

  #focusTab(): void {
    this.element.querySelector<HTMLElement>('[role="tab"][tabindex="0"]')?.focus();
  }

  #tabs(): Tab[] {
    const { model, post, pick, notify, api, run } = this.commands,
      edit = (step: number) => void askStep(this.commands, step),
      boundary = model.get("boundary"),
      plan = model.get("plan"),
      { saved, history: past, steps } = plan,
      faults = plan.faults.length,
      warnings = plan.warnings.length,
      applied = past.filter(one => !one.ahead).length,
      tab = (id: string, text: string, n: number, body: () => VNode, warn = false): Tab => ({ id, text, n, body, warn });
    const report = ({ lines, code }: Report) =>
      h(
        "div",
        h(
          "ul.gs-rows",
          lines.map(line => h("li", line)),
        ),
        this.#code(code, 0),
      );
    const tabs = [
      isMarked(boundary) &&
        tab(
          "boundary",
          "Boundary",
          boundary.inputs.length + boundary.outputs.length,
          () => tables.boundary(boundary, post, plan.same, control => this.copy(false, control)),
          boundary.leaks.length + boundary.control_leaks.length > 0,
        ),
      faults + warnings > 0 &&
        tab("problems", faults ? "Errors" : "Warnings", faults || warnings, () => tables.problems(plan, post, edit, this.#reveal), true),
      steps.length > 0 && [
        plan.inputs.length + Object.keys(plan.scopes).length > 0 &&
          tab("mapping", "Mapping", plan.inputs.length, () => tables.mapping(plan, post, pick)),
        tab("steps", "Steps", steps.length, () => tables.steps(plan, post, edit)),
        tab("variables", "Variables", plan.rows, () => tables.variables(plan, post)),
        tab("names", "New ops", plan.counts.ops, () => tables.names(plan, post)),
        tab("connections", "Connections", plan.counts.connections, () => tables.connections(plan)),
      ],
      steps.length + applied > 0 && tab("code", "Code", 0, () => this.#code(plan.code, applied, past, api.kernelStopped ? LOST : "")),
      past.length > 0 && tab("history", "History", past.length, () => tables.history(past, post)),
      "lines" in saved && tab("saved", saved.title, 0, () => report(saved as Report)),
      run &&
        tab(
          "run",
          "Run",
          0,
          () => runPanel(run, post, model.get("look")?.name ?? "", this.#reveal, notify),
          !!(run.bad || run.stop_reason),
        ),
    ];
    return tabs.flat().filter(one => !!one);
  }

  draw(): void {
    const boundary = this.commands.model.get("boundary"),
      plan = this.commands.model.get("plan"),
      faults = plan.faults.length,
      inTabs = hasFocus(this.element) && focused().closest(".gs-tabs, .gs-panel");
    // new errors are shown at once, not only counted
    if (faults && !this.#faults) this.#openTab = "problems";
    this.#faults = faults;
    this.#tabList = this.#tabs();
    const open = this.#tabList.find(t => t.id === this.#openTab),
      canCopy = !!(boundary.ops || this.commands.state.selected.source.size),
      copy = button({
        text: "Copy to scope\u2026",
        label: "Copy the region to a scope (c)",
        verb: "copy",
        hidden: !canCopy,
        onclick: () => this.copy(),
      }),
      marked = isMarked(boundary),
      planned = plan.steps.length > 0,
      panel = h(
        "div.gs-panel",
        {
          key: "panel",
          id: this.#panelId,
          role: "tabpanel",
          tabindex: 0,
          hidden: !open,
          "aria-labelledby": open && `${this.id}-tab-${open.id}`,
        },
        open && { ...open.body(), key: open.id },
      );
    const isOther = this.#shownTab !== open?.id;
    this.#shownTab = open?.id;
    this.#openTab = open?.id ?? "";
    draw(
      this.element,
      h(
        "section.gs-plan",
        { "aria-label": "Plan", class: planned && "gs-planned" },
        h(
          "div.gs-plan-row",
          { hidden: !marked },
          h("div.gs-summary", { tabindex: -1, role: "group", "aria-label": "Boundary" }, marked && this.#summary(boundary)),
          h("div.gs-copying", { hidden: !canCopy }, this.#copyFields(), marked && copy),
        ),
        // without a plan, the tabs are in the last line, below the panel; the order of Tab is that of the screen
        planned && this.#tabBar(open),
        panel,
        !planned && this.#tabBar(open),
      ),
    );
    if (isOther) this.element.querySelector(".gs-panel")!.scrollTop = 0;
    draw(this.buttons, group("div.gs-row.gs-doing", "Plan actions", !marked && copy, this.#buttons(plan)));
    if (inTabs && !hasFocus(this.element)) this.#focusTab();
  }

  get #panelId(): string {
    return `${this.id}-panel`;
  }

  #tabBar(open: Tab | undefined): VNode {
    const stop = open ?? this.#tabList[0];
    return h(
      "div.gs-tabs",
      { key: "tabs", role: "tablist", "aria-label": "Plan", onkeydown: rove },
      this.#tabList.map(t =>
        h(
          "button.gs-tab",
          {
            key: t.id,
            role: "tab",
            class: t.warn && "gs-warn",
            id: `${this.id}-tab-${t.id}`,
            "aria-selected": t === open,
            "aria-controls": t === open ? this.#panelId : undefined,
            tabindex: t === stop ? 0 : -1,
            "data-tab": t.id,
            onclick: () => this.show(t === open ? "" : t.id),
          },
          t.warn && icon("warn"),
          t.text,
          !!t.n && h("span.gs-n", figure(t.n)),
        ),
      ),
    );
  }

  #copyFields(): VNode[] {
    return [
      h("span.gs-word", "Scope:"),
      field({
        class: "gs-copy-to",
        placeholder: "new scope",
        "aria-label": "Scope to copy to",
        "data-verb": "copy",
        onkeydown: (e: KeyboardEvent) => {
          if (e.key !== "Enter" || e.ctrlKey || e.metaKey) return;
          consume(e);
          this.copy();
        },
      }),
      h("span.gs-word.gs-unmapped", { title: UNMAPPED }, "Other inputs:"),
      select(undefined, SOURCES, {
        class: "gs-select",
        "aria-label": "Other inputs: boundary inputs without a source",
        "data-verb": "copy",
      }),
    ];
  }

  #buttons(plan: Plan): VNode[] {
    const { commands } = this,
      empty = !plan.steps.length;
    // those that come and go are on the left, so that the others do not move
    return [
      button({
        text: "Compare",
        verb: "run",
        label: "Run the graph before and after the last plan, and compare",
        hidden: !empty || !plan.applied,
        onclick: () => void openRunForm(this.commands, "applied"),
      }),
      commands.button("try", { text: "Try", hidden: empty }),
      commands.button("save", { text: "Save" }),
      commands.button("undo", { icon: "undo", kind: "quiet" }),
      commands.button("redo", { icon: "redo", kind: "quiet" }),
      commands.button("apply", { text: "Apply", kind: "primary" }),
    ];
  }

  #summary(b: MarkedBoundary): Child[] {
    const leaks = b.leak_count;
    return [
      h("span.gs-tag.gs-tag-in", `\u25b7 ${b.inputs.length} in`),
      h("span.gs-tag.gs-tag-out", `\u25c1 ${b.outputs.length} out`),
      h("span.gs-figure", { title: REGION }, count(b.ops, "op")),
      b.variables > 0 && h("span.gs-figure", count(b.variables, "variable")),
      leaks > 0 &&
        h("button.gs-tag.gs-tag-leak", { title: LEAK, onclick: () => this.show("boundary", true) }, `\u26a0 ${count(leaks, "leak")}`),
      b.problem && h("span.gs-problem", { class: !b.outputs.length && "gs-muted", title: b.problem }, b.problem),
      b.is_reversed && sends(this.commands.post, "swap_boundary", {}, "Swap", { title: "Swap inputs and outputs" }),
      sends(this.commands.post, "clear_boundary", {}, "", { icon: "close", kind: "quiet", label: "Clear the boundary" }),
    ];
  }

  /** Code with its copy button. After applied plans there is the code of the whole history too: at once if the plan is empty. */
  #code(text: string, applied: number, past: unknown = null, note = ""): VNode {
    const history = !!past && this.#historyCode?.past === past && this.#historyCode.code,
      code = history || text,
      { insertCell } = this.commands.api;
    if (applied && !text && !history && !this.commands.api.kernelStopped) void this.#fetchHistory(past);
    return h(
      "div.gs-code",
      note && muted(note),
      h(
        "div.gs-row",
        !!code && copyButton(code, "Code copied.", this.commands.notify, { icon: "copy", text: "Copy code" }),
        !!code && !!insertCell && button({ text: "Insert into a new cell", onclick: () => insertCell(code) }),
        applied > 0 &&
          !history &&
          button({ text: `Code of ${count(applied, "applied plan")}`, verb: "history_code", onclick: () => this.#fetchHistory(past) }),
      ),
      !!code && h("pre", { tabindex: 0, role: "region", "aria-label": "Python code" }, code),
    );
  }

  async #fetchHistory(past: unknown): Promise<void> {
    if (this.#historyCode?.past === past) return;
    this.#historyCode = { past, code: "" };
    const code = (await this.commands.send("history_code", {}))?.code;
    if (this.#historyCode.past !== past) return;
    this.#historyCode = code ? { past, code } : null;
    if (code) this.draw();
  }
}

function isMarked(b: MarkedBoundary): boolean {
  return !!(b.inputs.length || b.outputs.length || b.ops);
}
